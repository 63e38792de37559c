"""What a knob does to web clients, against the scale of the network.

In: scale_contrasts.csv. Out: a column for each contrast, a row for each time: the change in percent at each
scale, paired by network, with its interval over networks.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plotting.drawing.axes import percent_formatter
from plotting.drawing.palette import GREY
from plotting.drawing.scales import panels, points_of
from plotting.drawing.source import Source

TITLE = "Effects against the scale of the network"
HOW_TO_READ = (
    "Each point is the change of a time when one knob changes, on networks of one scale: below zero is "
    "quicker. Where the points are level, scaling down does not change the answer; where they rise or "
    "fall, a small network gives another answer. An interval that crosses zero leaves the direction open, "
    "and one that ends at the edge of a panel goes on beyond it."
)
NEEDS = ("scale_contrasts", "outcomes")
_FARTHEST = 2.5
"""How far panels reach, in greatest changes."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    ends = ("ratio", "ratio_low", "ratio_high")
    points = points_of(source).with_columns(pl.col(ends) - 1)
    points = points.rename({end: end.replace("ratio", "change") for end in ends})
    # An interval of two networks can reach any number: it goes on beyond the panel.
    farthest = _FARTHEST * float(points["change"].abs().max() or 1.0)  # type: ignore[arg-type]
    note = "Change of web clients' times (%), paired by network: means and 95 % t-intervals over networks."
    figure, drawn, caption = panels(source, points, "change", note, "not reached")
    for panel in drawn:
        panel.axis.axhline(0, color=GREY, linewidth=0.7, zorder=1)
        lowest, highest = panel.axis.get_ylim()
        panel.axis.set_ylim(max(lowest, -min(farthest, 1.0)), min(highest, farthest))
        panel.axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        panel.axis.yaxis.set_major_formatter(percent_formatter())
    return figure, points, caption
