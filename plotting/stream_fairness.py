"""How evenly streams on one circuit were served, against the middle's bandwidth or the number of streams.

In: fairness.csv. Out: two rows of panels, Jain's index and the number of starved streams; a curve for each
level of the first other knob that varies, columns for the rest; means over networks, with bands.
"""

from __future__ import annotations

import re

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plotting.drawing.facets import MARK, Facets, band, band_of
from plotting.drawing.palette import canvas
from plotting.drawing.records import notes
from plotting.drawing.source import Source

TITLE = "Fairness among streams"
HOW_TO_READ = (
    "Jain's index of the streams' shares, and the number of streams that starved: an index of 1 says that "
    "all are served alike."
)
NEEDS = ("fairness", "outcomes")
_ALONG = {"middle_bandwidth": "Middle (KiB/s)", "streams": "Streams on the circuit"}
_ROWS = {"Jain's index": "jain", "Starved streams": "starved"}
_PER_KIB = {"KiB": 1.0, "KB": 1000 / 1024, "MiB": 1024.0, "MB": 1_000_000 / 1024, "": 1.0}


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    varying = [knob for knob in _ALONG if len(source.knobs.get(knob, [])) > 1]
    along = varying[0] if varying else next(iter(_ALONG))
    facets = Facets.of({knob: levels for knob, levels in source.knobs.items() if knob != along})
    points = source.summary("fairness")
    caption = source.caption(*notes(source), source.band_note())
    figure = canvas(facets.width_in, 0.7 + 1.3 * len(_ROWS) * len(facets.rows), caption)
    placed = points.with_columns(along=pl.Series([amount(text) for text in points[along]], dtype=pl.Float64))
    things = {name: band_of(placed, number) for name, number in _ROWS.items()}
    plot = (
        facets.plot(facets.place(things), things, x="along", y="mean")
        .add(band(source), ymin="low", ymax="high", edgestyle=facets.knob, legend=False)
        .add(so.Line(linewidth=1), legend=False)
        .add(MARK, marker=facets.knob, legend=False)
        .share(y="row")
    )
    for panel in facets.put(plot, figure, things, _ALONG[along]):
        panel.axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if _ROWS[panel.thing] == "jain":
            panel.axis.set_ylim(-0.02, 1.02)
        else:
            panel.axis.set_ylim(-0.2, float(points["opened"].max()) + 0.2)  # type: ignore[arg-type]
            panel.axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    facets.legend(figure, marker=True, more=facets.of_bands(source))
    return figure, points, caption


def amount(level: str) -> float:
    """The number in a level: KiB/s of a rate, else what it says."""
    rate = re.fullmatch(r"([0-9.]+)(?:([KM]i?B)ps)?", level)
    if rate is None:
        raise ValueError(f"no amount in '{level}'")
    return float(rate[1]) * _PER_KIB[rate[2] or ""]
