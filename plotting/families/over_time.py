"""What changes in the course of a run: cells that wait in relays, congestion windows and round trips.

In: queues.csv and windows.csv. Out: rows of panels for each number at the median and at the ninth decile, a
column for each facet, a curve for each level; means over networks with bands. Where the engine does not
observe queues, or windows are fixed, the figure says so instead.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import canvas, nothing
from plotting.drawing.source import PlanFigure, Source
from torsweep.stats.measures.relays import SECONDS_PER_WINDOW
from torsweep.stats.queues import MEAN_OVER_S

_ROWS = {"Ninth decile, cells": "ninth_decile", "Median relay, cells": "median"}


def _relay_queues(source: Source) -> tuple[Figure, pl.DataFrame, str]:
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


_WINDOW_OVER_TIME_ROWS = {
    "Window (cells),\nninth decile": "window_p90",
    "Window (cells),\nmedian": "window_median",
    "Round trip (s),\nninth decile": "round_trip_p90",
    "Round trip (s),\nmedian": "round_trip_median",
}
_OF_ONE_RANGE = "Window", "Round trip"
"""How the names of rows begin that have one range."""


def _window_over_time(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    facets = Facets.of(source.knobs)
    points = source.summary("windows")
    if points.is_empty():
        caption = source.caption("No exit reported a congestion window: windows are fixed, or not recorded.")
        return nothing("No congestion windows: they are fixed, or not recorded", points, caption)
    note = (
        f"Over all times at which exits computed a window within {SECONDS_PER_WINDOW} s; "
        "a gap means that a network has none."
    )
    caption = source.caption(note, source.interval_note())
    figure = canvas(facets.width_in, 0.6 + 1.1 * len(_WINDOW_OVER_TIME_ROWS) * len(facets.rows), caption)
    panels = facets.put_over_time(source, points, _WINDOW_OVER_TIME_ROWS, figure)
    for name in _OF_ONE_RANGE:
        own = [panel.axis for panel in panels if panel.thing.startswith(name)]
        highest = max(axis.get_ylim()[1] for axis in own)
        for axis in own:
            axis.set_ylim(0, highest)
    return figure, points, caption


FIGURES = (
    PlanFigure(
        "relay_queues",
        "Cells that wait in relays",
        "The longest circuit queues of each second, at the median relay and at the relay of the ninth "
        "decile. They show where time is lost, and whether the network had settled when the measurement "
        "began.",
        ("queues", "outcomes"),
        _relay_queues,
    ),
    PlanFigure(
        "window_over_time",
        "Windows and round trips over time",
        "The congestion windows of circuits and their round trips as exits see them, at the median and at "
        "the ninth decile. If the round trip grows with the window, cells only wait longer in queues.",
        ("windows", "outcomes"),
        _window_over_time,
    ),
)
