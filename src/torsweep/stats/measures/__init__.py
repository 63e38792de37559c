"""Measures of runs beside the times of downloads.

A measure takes rows of tables (seed, knobs, ``group`` and what it needs) and makes one number of those that
share a run and a group: a kind of client, a position of relays, a role of hosts, a reason, or :data:`ALL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from torsweep.runsets.plan_tables import IMPORT
from torsweep.stats.statistic import Analysis

ALL = "all"
"""The group of a measure that has no others."""

GROUP = "group"

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class Measure:
    """One measure: ``number`` makes the number of a run and group from ``rows``.

    ``topic`` and ``label`` are what figures and tables call it. Variants differ by percentage points of a
    ``share``, and by a part of the baseline of anything else. ``absent`` is the number of a run without rows
    of a group that another run has; None: it has no number. No number is below 0 or above ``most``. One that
    is not ``drawn`` is not in the figure of all measures.
    """

    name: str
    topic: str
    label: str
    unit: str
    meaning: str
    rows: Callable[[Analysis], pl.DataFrame | pl.LazyFrame]
    number: pl.Expr
    absent: float | None = None
    most: float = math.inf
    drawn: bool = True

    @property
    def share(self) -> bool:
        """Whether it is a part of a whole."""
        return self.unit == SHARE


SECONDS = "s"
"""The unit of times, whose means and intervals are those of logarithms."""

SHARE = "share"
"""The unit of a part of a whole, from 0 to 1."""


def by_run(analysis: Analysis) -> list[str]:
    """The columns that tell runs apart."""
    return ["seed", *analysis.knobs]


def in_group(frame: Rows, group: pl.Expr | None = None) -> Rows:
    """``frame`` with the text ``group`` as the group of each row; without one, all are in one group."""
    named = pl.lit(ALL) if group is None else group
    return frame.with_columns(named.cast(pl.String).alias(GROUP))


def whole_and_parts(frame: pl.DataFrame, part: str) -> pl.DataFrame:
    """``frame`` as one group, followed by its rows in groups by the column ``part``."""
    return pl.concat([in_group(frame), in_group(frame, pl.col(part))])


def seconds_measured(analysis: Analysis) -> pl.Expr:
    """How long a run was measured, in whole seconds after the warm-up, as rows by the second have it; of an
    import, all seconds of all simulations of a network, as many as the relay with most has rows."""
    if IMPORT in analysis.knobs:
        by, relays = by_run(analysis), analysis.tables.relays(["relay"])
        most = relays.group_by(*by, "relay").len().group_by(by).agg(pl.col("len").max())
        keys = most.select(pl.concat_str(by, separator="/")).to_series()
        return pl.concat_str(by, separator="/").replace_strict(keys, most["len"], default=None)
    seconds = analysis.provenance.duration_ns / 1e9 - math.ceil(analysis.provenance.warm_up_ns / 1e9)
    return pl.lit(seconds)


def ordered(groups: Sequence[str], order: Sequence[str]) -> list[str]:
    """``groups`` in ``order``, those that are not in it behind, by the alphabet."""
    return sorted(groups, key=lambda group: (order.index(group) if group in order else len(order), group))
