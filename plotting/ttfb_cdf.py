"""The time to the first byte of all downloads."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.curves import draw_metric, how_to_read
from plotting.drawing.source import Source

TITLE = "Time to first byte"
HOW_TO_READ = how_to_read("first")
NEEDS = ("curves", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    return draw_metric(source, "ttfb")
