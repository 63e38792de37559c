"""Paired differences of perf clients' medians, by size, against the baseline, as a forest plot."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.forest import draw_differences, how_to_read
from plotting.drawing.perf import draw_perf
from plotting.drawing.source import Source

TITLE = "Differences from the baseline, perf clients"
HOW_TO_READ = how_to_read()
NEEDS = ("perf_differences", "perf_outcomes", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    return draw_perf(source, draw_differences)
