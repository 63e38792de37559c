"""What the first byte waits for under each variant.

In: breakdown_groups.csv. Out: the mean time to the first byte by group: a bar for each variant, a panel for
each kind of client.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure

from plotting.drawing.facets import as_pandas, levels_text
from plotting.drawing.palette import GREY, SMALL_PT, TEXT_WIDTH_IN, THEME, canvas
from plotting.drawing.records import BAR, FIRST, SCALE, followed, kinds_of, legend, nothing_followed, seen
from plotting.drawing.source import Source, kind_title
from torsweep.runsets.reading import at_levels
from torsweep.stats.breakdown import ALL_DOWNLOADS

TITLE = "Where the first byte waits"
HOW_TO_READ = (
    "The mean time to the first byte of followed downloads, by what they waited for at each moment. The "
    "parts of a download add up to its time exactly. Time in a queue is the queue's, whatever made the "
    "queue long."
)
NEEDS = ("breakdown_groups", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points = source.summary("breakdown_groups").filter(byte=FIRST, slice=ALL_DOWNLOADS)
    if points.is_empty():
        return nothing_followed(source, points)
    kinds, variants = kinds_of(source, points), list(source.provenance.variants())
    caption = source.caption(f"Mean time to the first byte by what it waited for; {followed(points, kinds)}.")
    figure = canvas(TEXT_WIDTH_IN, 0.75 + 0.24 * len(variants), caption)
    named = [
        at_levels(points, variant).with_columns(variant=pl.lit(levels_text(variant))) for variant in variants
    ]
    bars = pl.concat(named).with_columns(mean_s=pl.col("mean_ms") / 1000)
    plot = (
        so.Plot(as_pandas(bars), x="mean_s", y="variant", color="group")
        .facet(col="kind", order=kinds)
        .add(BAR, so.Stack(), orient="y", legend=False)
        .scale(color=SCALE, y=so.Nominal(order=[levels_text(variant) for variant in variants]))
        .share(x=True)
        .label(x="Mean time to first byte (s)", y="")
        .theme(THEME)
    )
    plot.on(figure).plot()
    for axis, kind in zip(figure.axes, kinds, strict=True):
        for place, variant in enumerate(variants):
            whole_s = next(iter(at_levels(points, variant).filter(kind=kind)["whole_ms"] / 1000), None)
            said = " none followed" if whole_s is None else f" {whole_s:.2f}"
            axis.text(whole_s or 0, place, said, va="center", size=SMALL_PT, color=GREY)
        axis.set_title(f"{kind_title(kind)} clients")
        axis.margins(x=0.14)
        axis.set_xlim(left=0)
    legend(figure, seen(points))
    return figure, points, caption
