"""The time to the first byte of perf clients' downloads, by size."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.curves import draw_metric, how_to_read
from plotting.drawing.perf import draw_perf
from plotting.drawing.source import Source

TITLE = "Time to first byte, perf clients"
HOW_TO_READ = how_to_read("first")
NEEDS = ("perf_curves", "perf_outcomes", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    return draw_perf(source, lambda perf: draw_metric(perf, "ttfb"))
