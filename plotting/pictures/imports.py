"""The times of two imports, and those of the public network if they were given.

In: the folder that `torsweep import compare` leaves. Out: the figure ``ttfb`` or ``ttlb``: a row of panels
for each size that perf clients download, a curve for each import.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from plotting.drawing.curves import draw_metric, how_to_read
from plotting.drawing.source import Source
from plotting.drawing.style import save, style
from torsweep.config.traffic import PERF_KINDS
from torsweep.formats.frames import read_csv
from torsweep.imports.compare import COMPARISON_FILE
from torsweep.imports.measures import KNOB
from torsweep.stats.text import duration_text
from torsweep.storage.manifest import verify_folder

FIGURES = {"ttfb": ("ttfb_after_command", "first"), "ttlb": ("ttlb_after_command", "last")}
"""The time that a figure is of, and the byte to which it is."""


class ComparedImports(Source):
    """A comparison of imports, as a plan whose only knob is which import it is."""

    @cached_property
    def _plan(self) -> dict[str, Any]:
        return verify_folder(self.summaries, COMPARISON_FILE)

    @property
    def knobs(self) -> dict[str, list[str]]:
        """The names of the imports, the baseline first."""
        return {KNOB: list(self._plan["imports"])}

    def origin(self) -> str:
        """What made the numbers, as JSON."""
        return json.dumps({key: self._plan[key] for key in ("imports", "networks")}, separators=(",", ":"))

    def kinds(self) -> list[str]:
        """The perf clients that downloaded anything."""
        found = set(self.summary("outcomes")["kind"])
        return [kind for kind in PERF_KINDS if kind in found]

    def caption(self, *notes: str) -> str:
        """What was imported, then ``notes``."""
        counts = [
            f"{name}: {len(runs)} simulation{'s' * (len(runs) > 1)}"
            for name, runs in self._plan["imports"].items()
        ]
        cut = f"{duration_text(self._plan['warm_up_ns'])} cut"
        return " ".join(
            [f"{', '.join(counts)}; {cut}.", "Times count from the request.", *filter(None, notes)]
        )

    def band_note(self) -> str:
        """What bands are."""
        return "Bands: 95 % t-intervals over the networks of an import."

    def public(self, metric: str) -> pl.DataFrame | None:
        """The times of the public network, where they were given."""
        file = self.summaries / "public.csv"
        return read_csv(file, ("metric", "kind")).filter(metric=metric) if file.is_file() else None


def draw_figure(name: str, folder: Path, out: Path) -> None:
    """Draw the figure ``name`` of the comparison in ``folder``: ``out``.pdf, .png, .csv."""
    source, (metric, byte) = ComparedImports(folder), FIGURES[name]
    with style():
        figure, points, caption = draw_metric(source, metric, source.public(metric))
        save(figure, points, caption, source.origin(), out, f"Time to {byte} byte", how_to_read(byte))
