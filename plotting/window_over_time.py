"""Congestion windows and round trips over time.

In: windows.csv. Out: the windows and the round trips of circuits as exits see them, at the median and at the
ninth decile, a column of panels for each facet, a curve for each level; mean over networks and band. Where
windows are fixed the figure says so instead.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets
from plotting.drawing.palette import canvas, nothing
from plotting.drawing.source import Source
from torsweep.stats.measures.relays import SECONDS_PER_WINDOW

TITLE = "Windows and round trips over time"
HOW_TO_READ = (
    "The congestion windows of circuits and their round trips as exits see them, at the median and at the "
    "ninth decile. If the round trip grows with the window, cells only wait longer in queues."
)
NEEDS = ("windows", "outcomes")
_ROWS = {
    "Window (cells),\nninth decile": "window_p90",
    "Window (cells),\nmedian": "window_median",
    "Round trip (s),\nninth decile": "round_trip_p90",
    "Round trip (s),\nmedian": "round_trip_median",
}
_OF_ONE_RANGE = "Window", "Round trip"
"""How the names of rows begin that have one range."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
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
    figure = canvas(facets.width_in, 0.6 + 1.1 * len(_ROWS) * len(facets.rows), caption)
    panels = facets.put_over_time(source, points, _ROWS, figure)
    for name in _OF_ONE_RANGE:
        own = [panel.axis for panel in panels if panel.thing.startswith(name)]
        highest = max(axis.get_ylim()[1] for axis in own)
        for axis in own:
            axis.set_ylim(0, highest)
    return figure, points, caption
