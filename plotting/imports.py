"""The times of two imports, with those of the public network where they were given.

    python -m plotting.imports FOLDER --out FOLDER/figures

In: the folder that `torsweep import compare` leaves. Out: the figures ``ttfb`` and ``ttlb``: a row of panels
for each size that perf clients download, a curve for each import.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from plotting.drawing.command import exit_code_of
from plotting.drawing.curves import Public, draw_metric, how_to_read
from plotting.drawing.source import Source
from plotting.drawing.style import save, style
from torsweep.config.traffic import PERF_KINDS
from torsweep.formats.text import read_csv
from torsweep.imports.compare import COMPARISON_FILE
from torsweep.imports.measures import KNOB
from torsweep.stats.text import duration_text
from torsweep.storage.manifest import verify_folder

FIGURES = {"ttfb": "ttfb_after_command", "ttlb": "ttlb_after_command"}


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
        counts = [f"{name}: {len(runs)} simulations" for name, runs in self._plan["imports"].items()]
        cut = f"{duration_text(self._plan['warm_up_ns'])} cut"
        return " ".join(
            [f"{', '.join(counts)}; {cut}.", "Times count from the request.", *filter(None, notes)]
        )

    def band_note(self) -> str:
        """What bands are."""
        return "Bands: 95 % t-intervals over the networks of an import."

    def public(self, metric: str) -> Public:
        """The times of the public network by kind of client."""
        file = self.summaries / "public.csv"
        if not file.is_file():
            return {}
        found = read_csv(file, ("measure", "kind"), ("value",)).filter(pl.col("measure") == metric)
        own = {kind: found.filter(pl.col("kind").is_null() | (pl.col("kind") == kind)) for kind in PERF_KINDS}
        return {kind: rows["value"].sort().to_numpy() for kind, rows in own.items() if len(rows)}


def draw_all(folder: Path, out: Path) -> None:
    """Draw the figures of the comparison in ``folder`` into the folder ``out``."""
    source = ComparedImports(folder)
    for name, metric in FIGURES.items():
        byte = "first" if name == "ttfb" else "last"
        with style():
            figure, points, caption = draw_metric(source, metric, source.public(metric))
            save(
                figure,
                points,
                caption,
                source.origin(),
                out / name,
                f"Time to {byte} byte",
                how_to_read(byte),
            )


def main() -> int:
    """The exit code of the command line."""
    parser = argparse.ArgumentParser(prog="python -m plotting.imports", description="Draw two imports.")
    parser.add_argument("folder", type=Path, help="folder that `torsweep import compare` wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    options = parser.parse_args()
    return exit_code_of(lambda: draw_all(options.folder, options.out), options.out / "ttlb")


if __name__ == "__main__":
    sys.exit(main())
