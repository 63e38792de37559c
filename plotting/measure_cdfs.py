"""How build times, round trips, goodput and utilisation are spread.

In: distributions.csv. Out: a row of panels for each of them and each kind of client, a curve for each level
of the first knob, facets for the others; means over networks with their intervals. What the engine did not
record is left out, and so is what fewer than two of several networks have, or a network has hardly any of.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from plotting.drawing.axes import plain_log_ticks, share_axis
from plotting.drawing.facets import Facets, band
from plotting.drawing.palette import canvas, nothing
from plotting.drawing.source import Source
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
FEWEST = 3
"""One or two downloads in a network are no curve, and several such networks give a band of any width."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    every = source.summary("distributions")
    # A curve of one network of several is no mean, and has no interval.
    a_mean = pl.col("networks") >= min(2, len(source.provenance.seeds))
    of_panel = ("distribution", "group", *facets.rows[0], *facets.columns[0])
    points = every.filter(a_mean, pl.col("fewest").min().over(of_panel) >= FEWEST)
    few = [_thing(*one) for one in _things(every) if one not in _things(points)]
    too_few = [f"Too few for a curve: {', '.join(few)}."] if few else []
    caption = source.caption("Means over networks.", *too_few, source.band_note())
    if points.is_empty():
        said = too_few[0] if few else f"{source.provenance.engine} records none of these"
        return nothing(said, points, caption)
    rows: dict[str, tuple[Distribution, str, pl.DataFrame]] = {}
    for name, group in _things(points):
        thing = _thing(name, group)
        rows[thing[0].upper() + thing[1:]] = (
            DISTRIBUTIONS[name],
            group_text(group),
            points.filter(distribution=name, group=group),
        )
    things = {name: of_kind_points for name, (_, _, of_kind_points) in rows.items()}
    figure = canvas(facets.width_in, 0.7 + _ROW_IN * len(things) * len(facets.rows), caption, *too_few)
    plot = (
        facets.plot(facets.place(things), things, x="value", y="share")
        .add(
            band(source), xmin="value_low", xmax="value_high", edgestyle=facets.knob, orient="y", legend=False
        )
        .add(so.Path(linewidth=1), legend=False)
        .share(x=False)
    )
    for panel in facets.put(plot, figure, things, "", "too few"):
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
    facets.legend(figure, more=facets.of_bands(source))
    return figure, points, caption


def _things(points: pl.DataFrame) -> list[tuple[str, str]]:
    """Each distribution and group in ``points``."""
    return points.select("distribution", "group").unique(maintain_order=True).rows()


def _thing(distribution: str, group: str) -> str:
    """``circuits``, ``web downloads``."""
    of_kind = "" if group == ALL else f"{KIND_NAMES[group]} "
    return f"{of_kind}{DISTRIBUTIONS[distribution].thing}"
