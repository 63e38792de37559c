"""Queues in relays over time.

In: queues.csv. Out: the longest circuit queues of each second at the median relay and at the relay of the
ninth decile, a column of panels for each facet, a curve for each level; mean over networks and band. If the
engine cannot look into tor's queues, the figure says so instead.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import canvas, nothing
from plotting.drawing.source import Source
from torsweep.stats.queues import MEAN_OVER_S

TITLE = "Cells that wait in relays"
HOW_TO_READ = (
    "The longest circuit queues of each second, at the median relay and at the relay of the ninth decile. "
    "They show where time is lost, and whether the network had settled when the measurement began."
)
NEEDS = ("queues", "outcomes")
_ROWS = {"Ninth decile, cells": "ninth_decile", "Median relay, cells": "median"}


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets, engine = Facets.of(source.knobs), source.provenance.engine
    points = source.summary("queues")
    if points.is_empty():
        caption = source.caption(f"Circuit queues of relays are not observed by the engine {engine}.")
        return nothing(f"Queues in relays: not observed by {engine}", points, caption)
    note = f"Most cells in a relay's circuit queues within a second; mean over {MEAN_OVER_S} s."
    caption = source.caption(note, source.interval_note())
    figure = canvas(facets.width_in, 0.6 + 1.2 * len(_ROWS) * len(facets.rows), caption)
    facets.put_over_time(source, points, _ROWS, figure)
    return figure, points, caption
