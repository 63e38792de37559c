"""Perf clients in figures that otherwise show web and bulk clients.

In: a :class:`~plotting.drawing.source.Source`. Out: the figure that ``draw`` makes of the
summaries of perf clients, or one that says that there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.source import Source
from plotting.drawing.style import nothing
from torsweep.config.traffic import KIND_NAMES
from torsweep.stats.likeness import Likeness, likeness
from torsweep.stats.streams.perf import PERF_PREFIX

Drawn = tuple[Figure, pl.DataFrame, str]


@dataclass(frozen=True)
class _PerfSource(Source):
    """The summaries of a plan's perf clients."""

    def summary(self, name: str) -> pl.DataFrame:
        """The summary of perf clients that ``name`` is of the others."""
        return super().summary(f"{PERF_PREFIX}{name}")

    def public(self) -> Likeness | None:
        """The baseline beside the public network, where the summary has that."""
        found = likeness(self.summaries)
        return None if found.public is None else found

    def _downloads(self, counts: Mapping[str, int]) -> str:
        parts = " and ".join(f"{count:,} of {KIND_NAMES[kind]}" for kind, count in counts.items())
        return f"downloads of perf clients: {parts}"


def draw_perf(source: Source, draw: Callable[[Source], Drawn]) -> Drawn:
    """The figure that ``draw`` makes of perf clients, its points and its caption."""
    if not source.has(f"{PERF_PREFIX}outcomes"):
        return nothing(
            "No perf clients", pl.DataFrame(), source.caption("The networks have no perf clients.")
        )
    return draw(_PerfSource(source.summaries))
