"""What the first byte waits for in fast and in slow downloads.

In: breakdown_groups.csv. Out: between percentiles of the time to the first byte, the share of each group: a
panel for each variant.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import GREY, SMALL_PT, TEXT_WIDTH_IN, canvas
from plotting.drawing.records import BAR, FIRST, SCALE, followed, kinds_of, legend, nothing_followed, seen
from plotting.drawing.source import Source
from torsweep.runsets.reading import at_levels
from torsweep.stats.breakdown import ALL_DOWNLOADS, SLICES

TITLE = "Where fast and slow downloads wait"
HOW_TO_READ = (
    "Each bar shows what the first byte waited for in downloads between two percentiles of the time to first "
    "byte. The parts that grow from left to right make slow downloads slow. The number above a bar is the "
    "mean in seconds."
)
NEEDS = ("breakdown_groups", "outcomes")
_SLICES = [name.replace("-", "–") for name in SLICES if name != ALL_DOWNLOADS]


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    means = source.summary("breakdown_groups")
    kinds = kinds_of(source, means)[:1]
    points = means.filter(pl.col("slice") != ALL_DOWNLOADS, pl.col("kind").is_in(kinds), byte=FIRST)
    if points.is_empty():
        return nothing_followed(source, points)
    caption = source.caption(
        f"What the first byte waited for in downloads of {kinds[0]} clients between two percentiles of their "
        f"run's times to first byte, as shares of the mean (above each bar, in s); {followed(points, kinds)}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.35 * len(facets.rows), caption)
    percent, slices = 100 * pl.col("share"), pl.col("slice").str.replace("-", "–")
    known = points.filter(pl.col("whole_ms") > 0).with_columns(percent=percent, slice=slices)
    things = {"Share (%);\nabove: mean (s)": known}
    plot = (
        facets.plot(facets.place(things), things, x="slice", y="percent", color="group")
        .add(BAR, so.Stack(), orient="x", legend=False)
        .scale(color=SCALE, x=so.Nominal(order=_SLICES))
        .limit(y=(0, 114))
    )
    for panel in facets.put(plot, figure, things, "Percentile of the time", "none followed"):
        panel.axis.tick_params(axis="x", rotation=60)
        own = at_levels(things[panel.thing], panel.levels).select("slice", pl.col("whole_ms") / 1000)
        for name, whole_s in own.unique(maintain_order=True).iter_rows():
            where = _SLICES.index(name), 101
            panel.axis.text(*where, f"{whole_s:.2g}", ha="center", size=SMALL_PT, color=GREY)
    legend(figure, seen(points))
    return figure, points, caption
