"""When each stream of a circuit was complete.

In: shares.csv. Out: a panel for each level of the knob with the most levels, a row for each of other knobs
that vary (the middle's bandwidth is the baseline's); the completion of each stream against its place in the
order of opening, in the colour of the first knob that varies, or of what made the runs. Small marks are
single networks, large ones the means over the networks that all levels of the colour have.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plotting.drawing.facets import Facets
from plotting.drawing.palette import TEXT_WIDTH_IN, canvas
from plotting.drawing.records import held, notes
from plotting.drawing.source import Source

TITLE = "When each stream was complete"
HOW_TO_READ = (
    "Streams in the order in which they were opened: the lower a mark, the earlier the stream was complete."
)
NEEDS = ("shares", "outcomes")

_BESIDE = 0.6
"""How far the marks of the first and the last level stand apart, so that none covers another, and each is
nearer to its own stream than to the next."""
_MOST_TICKS = 15


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    kept, kept_note = held(source)
    knobs = {knob: levels for knob, levels in source.knobs.items() if knob not in kept}
    facets = Facets.of(knobs)
    every = source.summary("shares").filter(
        *(pl.col(knob) == level for knob, level in kept.items()), pl.col("completed_s").is_not_null()
    )
    others = [knob for knob in knobs if knob != facets.knob]
    shared = pl.col(facets.knob).n_unique().over([*others, "seed"])
    every = every.filter(shared == shared.max().over(others) if others else shared == shared.max())
    last = max(len(facets.levels) - 1, 1)
    beside = {level: _BESIDE * (number / last - 0.5) for number, level in enumerate(facets.levels)}
    aside = pl.col(facets.knob).replace_strict(beside, return_dtype=pl.Float64)
    placed = every.with_columns(x=pl.col("opened") + aside)
    means = placed.group_by([*knobs, "opened", "x"], maintain_order=True).agg(pl.col("completed_s").mean())
    caption = source.caption(
        kept_note, "Large: means over the networks that all have; small: single networks.", *notes(source)
    )
    figure = canvas(TEXT_WIDTH_IN, 0.7 + 1.6 * len(facets.rows), caption)
    name = "Complete after (s)"
    points = pl.concat(
        [
            placed.select(*knobs, "x", single="completed_s", mean=pl.lit(None, pl.Float64)),
            means.select(*knobs, "x", single=pl.lit(None, pl.Float64), mean="completed_s"),
        ]
    )
    things = {name: points}
    plot = (
        facets.plot(facets.place(things), things, x="x")
        .add(so.Dot(pointsize=2, alpha=0.6, edgewidth=0), y="single", marker=facets.knob, legend=False)
        .add(so.Dot(pointsize=4, edgewidth=0), y="mean", marker=facets.knob, legend=False)
        .share(y=True)
        .limit(y=(0, None))
    )
    for panel in facets.put(plot, figure, things, "Stream, in order of opening"):
        panel.axis.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True))
    facets.legend(figure, marker=True, lines=False)
    return figure, means.drop("x"), caption
