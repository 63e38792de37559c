"""When each stream of a circuit was complete, under each source.

In: streams.csv and stream_means.csv. Out: a panel for each activation order, rows for other knobs that vary
(the middle's bandwidth is the baseline's); the completion of each stream against its place in the order of
opening, a mark for each source, small marks for single networks.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plotting.drawing.compared import ComparedSources
from plotting.drawing.facets import Facets, at, levels_text
from plotting.drawing.palette import level_name
from plotting.drawing.style import TEXT_WIDTH_IN, canvas
from torsweep.stats.streams.fairness import HELD_KNOB

TITLE = "When each stream was complete, under each source"
HOW_TO_READ = (
    "Streams in the order in which they were opened: the lower a mark, the earlier the stream was complete."
)
NEEDS = ("streams", "stream_means")

_BESIDE = 0.3
"""How far the marks of two sources stand apart, so that none covers another."""


def draw(source: ComparedSources) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    each, means = source.table("streams"), source.table("stream_means")
    knobs = [knob for knob in source.about.knobs if knob != HELD_KNOB]
    facets = Facets.of({knob: means[knob].unique(maintain_order=True).to_list() for knob in knobs})
    rows_of = [{**row, **column} for row in facets.rows for column in facets.columns]
    kept = {HELD_KNOB: source.about.baseline[HELD_KNOB]} if HELD_KNOB in source.about.baseline else {}
    caption = source.caption(
        *(f"Middle {level_name(level)}." for level in kept.values()),
        "Large marks: means over networks; small ones: each network.",
    )
    figure = canvas(TEXT_WIDTH_IN, 0.7 + 1.6 * len(rows_of), caption)
    axes = figure.subplots(len(rows_of), len(facets.levels), sharex=True, sharey="row", squeeze=False)
    middle = (len(source.looks) - 1) / 2
    beside = {label: _BESIDE * (number - middle) for number, label in enumerate(source.looks)}
    for row, line in zip(rows_of, axes, strict=True):
        for level, axis in zip(facets.levels, line, strict=True):
            for frame, size, alpha in ((each, 5, 0.6), (means, 16, 1.0)):
                chosen = at(frame, {**row, facets.knob: level, **kept})
                aside = pl.col("source").replace_strict(beside, return_dtype=pl.Float64)
                data = chosen.select("source", x=pl.col("opened") + aside, y="completed_s")
                source.scatter(axis, data.to_dict(as_series=False), size, alpha=alpha)
            axis.set(title=level_name(level), xlabel="", ylabel="")
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        line[0].set_ylabel("\n".join(filter(None, ("Complete after (s)", levels_text(row)))))
    for axis in axes[-1]:
        axis.set_xlabel("Stream, in order of opening")
    source.legend(figure)
    return figure, means, caption
