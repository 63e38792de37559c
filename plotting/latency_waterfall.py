"""One download of each variant, piece by piece.

In: breakdown_path.csv. Out: a panel for each variant: time to the right, places downwards.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import TEXT_WIDTH_IN, canvas
from plotting.drawing.records import SCALE, legend, nothing_followed
from plotting.drawing.source import Source
from torsweep.config.tracing import GROUP_OF, PLACES

TITLE = "One download, piece by piece"
HOW_TO_READ = (
    "The time to first byte of one download (the median one of the first network) in pieces, each at the "
    "place where it was spent. Time runs to the right."
)
NEEDS = ("breakdown_path", "outcomes")
_LEAST_SHARE = 2e-3
"""Of the longest download: shorter pieces cannot be seen, and are not in the legend."""
# Without smoothing, neighbouring pieces of one group have no seam between them.
_PIECE = so.Range(linewidth=8, linestyle="-", artist_kws={"antialiaseds": [False], "capstyle": "butt"})


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points = source.summary("breakdown_path")
    if points.is_empty():
        return nothing_followed(source, points)
    kind, seed = points["kind"][0], points["seed"][0]
    caption = source.caption(
        f"The time to first byte, in pieces, of the {kind} download for which it is the median; network of "
        f"seed {seed}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.7 * len(facets.rows), caption)
    begin, spent = pl.col("start_ms") / 1000, pl.col("duration_ms") / 1000
    pieces = points.with_columns(begin=begin, end=begin + spent, group=pl.col("part").replace(GROUP_OF))
    things = {"": pieces}
    plot = (
        facets.plot(facets.place(things), things, x="begin", y="place", color="group")
        .add(_PIECE, xmin="begin", xmax="end", orient="y", group="step", legend=False)
        .scale(color=SCALE, y=so.Nominal(order=list(PLACES)))
        .limit(x=(0, None))
    )
    for panel in facets.put(plot, figure, things, "Since the download was opened (s)", "none followed"):
        panel.axis.grid(visible=True, axis="y")
    seen = pieces.filter(pl.col("end") - pl.col("begin") > _LEAST_SHARE * pl.col("end").max())
    legend(figure, set(seen["group"]))
    return figure, points, caption
