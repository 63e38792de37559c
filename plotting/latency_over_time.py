"""What the first byte waits for, over time.

In: breakdown_time.csv. Out: the mean time to the first byte by group, against the time when downloads of the
first network were opened: a panel for each variant.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import TEXT_WIDTH_IN, canvas
from plotting.drawing.records import BAR, FIRST, SCALE, kinds_of, legend, nothing_followed, seen
from plotting.drawing.source import Source
from torsweep.stats.breakdown import SECONDS_PER_SLOT

TITLE = "Where the first byte waits, over time"
HOW_TO_READ = (
    "What the first byte waited for, by when the download was opened, in steps of ten seconds, on the first "
    "network. A part that comes in bursts shows as peaks of its colour."
)
NEEDS = ("breakdown_time", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    time = source.summary("breakdown_time")
    kinds = kinds_of(source, time)[:1]
    points = time.filter(pl.col("kind").is_in(kinds), byte=FIRST)
    if points.is_empty():
        return nothing_followed(source, points)
    caption = source.caption(
        f"Mean time to the first byte of {kinds[0]} clients by what it waited for, of downloads opened "
        f"within {SECONDS_PER_SLOT} s; network of seed {source.provenance.seeds[0]}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.35 * len(facets.rows), caption)
    middle, mean = pl.col("second") + SECONDS_PER_SLOT / 2, pl.col("mean_ms") / 1000
    things = {"Mean time (s)": points.with_columns(middle=middle, mean_s=mean)}
    plot = (
        facets.plot(facets.place(things), things, x="middle", y="mean_s", color="group")
        .add(replace(BAR, width=1), so.Stack(), orient="x", legend=False)
        .scale(color=SCALE)
    )
    for panel in facets.put(plot, figure, things, "Opened at (s)", "none followed"):
        panel.axis.grid(visible=False, axis="x")
    legend(figure, seen(points))
    return figure, points, caption
