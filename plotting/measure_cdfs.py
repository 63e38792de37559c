"""How build times, round trips, goodput and utilisation are spread.

In: distributions.csv. Out: a row of panels for each of them and each kind of client, a curve for each level
of the first knob, facets for the others; means over networks. What the engine did not record is
left out.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from plotting.drawing.axes import plain_log_ticks, share_axis
from plotting.drawing.facets import Facets
from plotting.drawing.source import Source
from plotting.drawing.style import canvas, nothing
from torsweep.config.traffic import KIND_NAMES
from torsweep.stats.measures.distributions import DISTRIBUTIONS, Distribution
from torsweep.stats.measures.measure import ALL
from torsweep.stats.measures.summary import group_text

TITLE = "Build times, round trips, goodput and utilisation"
HOW_TO_READ = (
    "A point of a curve is the share of circuits, downloads or relays that are at or below that value: for "
    "times, further left is faster; for goodput, further right. Circuits that failed and downloads that are "
    "not complete are in no curve."
)
NEEDS = ("distributions", "outcomes")
_ROW_IN = 1.4


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    points = source.summary("distributions")
    caption = source.caption("Means over networks.")
    if points.is_empty():
        return nothing(f"{source.provenance.engine} records none of these", points, caption)
    rows: dict[str, tuple[Distribution, str, pl.DataFrame]] = {}
    for name, group in points.select("distribution", "group").unique(maintain_order=True).iter_rows():
        one, of_kind = DISTRIBUTIONS[name], "" if group == ALL else f"{KIND_NAMES[group]} "
        thing = f"{of_kind}{one.thing}"
        rows[thing[0].upper() + thing[1:]] = (
            one,
            group_text(group),
            points.filter(distribution=name, group=group),
        )
    things = {name: of_kind_points for name, (_, _, of_kind_points) in rows.items()}
    figure = canvas(facets.width_in, 0.7 + _ROW_IN * len(things) * len(facets.rows), caption)
    plot = (
        facets.plot(facets.place(things), things, x="value", y="share")
        .add(so.Path(linewidth=1), legend=False)
        .share(x=False)
    )
    for panel in facets.put(plot, figure, things, ""):
        one, of_kind, of_kind_points = rows[panel.thing]
        share_axis(panel.axis)
        panel.axis.set_xlabel(one.label.replace(" (", f"{of_kind} (") if of_kind else one.label)
        panel.axis.xaxis.label.set_visible(True)
        values = of_kind_points["value"].to_numpy()
        if one.logarithmic:
            panel.axis.set_xlim(values.min() * 0.9, values.max() * 1.15)
            panel.axis.set_xscale("log")
            plain_log_ticks(panel.axis)
        else:
            panel.axis.set_xlim(0, values.max() * 1.05)
            panel.axis.xaxis.set_major_locator(MaxNLocator(3))
            panel.axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    facets.legend(figure)
    return figure, points, caption
