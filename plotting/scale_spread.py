"""How far the answers of single networks are apart, against the scale of the network.

In: scale_contrasts.csv. Out: a column for each contrast, a row for each time: the standard deviation between
networks at each scale, with its interval, and what it would be if it fell as 1 / √scale.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from plotting.drawing.axes import log_ticks
from plotting.drawing.palette import GREY
from plotting.drawing.scales import panels, points_of
from plotting.drawing.source import Source

TITLE = "Spread between networks against their scale"
HOW_TO_READ = (
    "Each point is the standard deviation, between networks, of the change that a network shows. Along "
    "the grey line it falls as one over the square root of the scale: then ten small networks say as much as "
    "one that is ten times as large. If points fall faster, one large network says more; if slower, less."
)
NEEDS = ("scale_contrasts", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    # A logarithmic axis has no place for no spread.
    spread = pl.when(pl.col("spread") > 0).then(pl.col("spread"))
    points = points_of(source).with_columns(spread.alias("spread"))
    note = (
        "Standard deviation between networks of the log ratio of two variants' times (%), with 95 % "
        "intervals (χ²); grey: as one over the root of the scale."
    )
    figure, drawn, caption = panels(source, points, "spread", note, "no spread")
    for panel in drawn:
        panel.axis.set_yscale("log")
        for _, _, line in panel.lines():
            root = line["size"], line["spread_by_root"]
            panel.axis.plot(*root, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for panel in drawn:
        panel.axis.yaxis.set_major_locator(log_ticks(*panel.axis.get_ylim()))
        panel.axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}"))
        panel.axis.yaxis.set_minor_formatter(NullFormatter())
    return figure, points.drop_nulls("spread"), caption
