"""The first seconds of the web clients' time to first byte, where a stair-step shows.

In: closeup.csv. Out: a panel for each facet on a linear axis; the mean curve over networks, and a thin one
for each network. Vertical lines stand a longest refill interval apart, so a step of that width repeats in
each field.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from plotting.drawing.curves import KIND_NAMES
from plotting.drawing.facets import Facets, every_axis, label
from plotting.drawing.source import Source
from plotting.drawing.style import canvas
from plotting.drawing.ticks import seconds_formatter
from torsweep.config.looks import Look
from torsweep.stats.streams.curves import CLOSEUP_KIND, CLOSEUP_METRIC, longest_interval_s
from torsweep.stats.streams.incidence import METRICS

TITLE = "Time to first byte, the first seconds"
HOW_TO_READ = (
    "The shares of downloads that have their first byte, on a linear axis; thin curves are single networks. "
    "Steps at the same times in each network have a common cause; steps at different times are due to chance."
)
NEEDS = ("closeup", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    points = source.summary("closeup")
    interval_s = longest_interval_s(source.knobs)
    until_s = float(points["time_s"].max() or 1)  # type: ignore[arg-type]
    notes = ["Thick: mean over networks; thin: each network."] if len(source.provenance.seeds) > 1 else []
    if interval_s:
        notes.append(f"Vertical lines: {interval_s:g} s apart.")
    caption = source.caption(*notes)
    figure = canvas(facets.width_in, 0.75 + 1.55 * len(facets.rows), caption)
    panels = facets.panels(figure, [CLOSEUP_KIND], sharex=True)
    for axis, column in [panel for _, row in panels for panel in row]:
        for level in facets.levels:
            _curves(axis, facets.look(level), facets.select(points, column, level))
        axis.set_xlim(0, until_s)
        if interval_s and until_s / interval_s <= 12:
            axis.xaxis.set_major_locator(MultipleLocator(interval_s))
    for axis in every_axis(panels):
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axis.xaxis.set_major_formatter(seconds_formatter())
        axis.set_ylim(0, 1.02)
    label(panels, facets.row_names([KIND_NAMES[CLOSEUP_KIND]]), f"{METRICS[CLOSEUP_METRIC].label} (s)")
    facets.legend(figure)
    return figure, points, caption


def _curves(axis: Axes, drawn: Look, points: pl.DataFrame) -> None:
    """One level's curves: those of the networks, then the mean, whose ``seed`` is null."""
    networks = points.drop_nulls("seed").partition_by("seed", maintain_order=True)
    for curve in networks if len(networks) > 1 else []:
        axis.plot(curve["time_s"], curve["share"], color=drawn.colour, linewidth=0.3, alpha=0.45)
    mean = points.filter(pl.col("seed").is_null())
    axis.plot(mean["time_s"], mean["share"], color=drawn.colour, linestyle=drawn.dashes)
