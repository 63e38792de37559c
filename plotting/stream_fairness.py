"""How evenly streams on one circuit were served, against the middle's bandwidth or the number of streams.

In: fairness.csv. Out: two rows of panels, Jain's index and the number of starved streams; a curve for each
level of the first other knob that varies, columns for the rest; means over networks, with bands.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plotting.drawing.facets import Facets, every_axis, label
from plotting.drawing.source import Source
from plotting.drawing.streams import notes
from plotting.drawing.style import canvas
from torsweep.config.looks import Look

TITLE = "Fairness among streams"
HOW_TO_READ = (
    "Jain's index of the streams' shares, and the number of streams that starved: an index of 1 says that "
    "all are served alike."
)
NEEDS = ("fairness", "outcomes")

_ALONG = {"middle_bandwidth": "Middle (KiB/s)", "streams": "Streams on the circuit"}
_ROWS = {"jain": "Jain's index", "starved": "Starved streams"}


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    varying = [knob for knob in _ALONG if len(source.knobs.get(knob, [])) > 1]
    along = varying[0] if varying else next(iter(_ALONG))
    facets = Facets.of({knob: levels for knob, levels in source.knobs.items() if knob != along})
    points = source.summary("fairness")
    caption = source.caption(*notes(source), source.band_note())
    figure = canvas(facets.width_in, 0.7 + 1.3 * len(_ROWS) * len(facets.rows), caption)
    panels = facets.panels(figure, list(_ROWS), sharex=True, sharey="row")
    for name, row in panels:
        for axis, column in row:
            for level in facets.levels:
                _curve(axis, facets.select(points, column, level), along, name, facets.look(level))
            axis.set_ylim(-0.02, 1.02) if name == "jain" else axis.set_ylim(-0.2, _most(points) + 0.2)
    for axis in every_axis(panels):
        axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for _, row in panels[1:]:
        for axis, _ in row:
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    label(panels, facets.row_names(list(_ROWS.values())), _ALONG[along])
    facets.legend(figure, marker=True)
    return figure, points, caption


def _most(points: pl.DataFrame) -> float:
    return float(points["opened"].max())  # type: ignore[arg-type]


def _curve(axis: Axes, rows: pl.DataFrame, along: str, name: str, drawn: Look) -> None:
    if rows.is_empty():
        return
    where = np.array([amount(text) for text in rows[along]])
    order = np.argsort(where)
    mean, low, high = (rows[column].to_numpy()[order] for column in (name, f"{name}_low", f"{name}_high"))
    axis.fill_between(
        where[order], low.astype(float), high.astype(float), color=drawn.colour, alpha=0.22, lw=0
    )
    axis.plot(
        where[order],
        mean,
        color=drawn.colour,
        linestyle=drawn.dashes,
        marker=drawn.marker,
        markersize=3.5,
        mec="white",
        mew=0.4,
        linewidth=1.0,
    )


_PER_KIB = {"KiB": 1.0, "KB": 1000 / 1024, "MiB": 1024.0, "MB": 1_000_000 / 1024, "": 1.0}


def amount(level: str) -> float:
    """The number in a level: KiB/s of a rate, else what it says."""
    found = re.fullmatch(r"([0-9.]+)(?:([KM]i?B)ps)?", level)
    if found is None:
        raise ValueError(f"no amount in '{level}'")
    return float(found[1]) * _PER_KIB[found[2] or ""]
