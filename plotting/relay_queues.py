"""Queues in relays over time.

In: queues.csv. Out: the longest circuit queues of each second at the median relay and at the relay of the
ninth decile, a column of panels for each facet, a curve for each level; mean over networks and band. Where
the engine cannot look into tor's queues the figure says so instead.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets, every_axis, label
from plotting.drawing.source import Source
from plotting.drawing.style import GREY, TEXT_WIDTH_IN, canvas
from torsweep.config.looks import Look
from torsweep.stats.cells.queues import MEAN_OVER_S, QUANTILES

TITLE = "Cells that wait in relays"
HOW_TO_READ = (
    "The longest circuit queues of each second, at the median relay and at the relay of the ninth decile: "
    "where time is lost, and whether the network had settled when the measurement began."
)
NEEDS = ("queues", "outcomes")

_NAMES = {"ninth_decile": "Ninth decile, cells", "median": "Median relay, cells"}


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    points = source.summary("queues")
    if points.is_empty():
        return _not_observed(source, points)
    caption = source.caption(
        f"Most cells in a relay's circuit queues within a second; mean over {MEAN_OVER_S} s.",
        source.band_note(),
    )
    figure = canvas(facets.width_in, 0.6 + 1.2 * len(QUANTILES) * len(facets.rows), caption)
    panels = facets.panels(figure, list(QUANTILES), sharex=True, sharey="row")
    for name, row in panels:
        for axis, column in row:
            for level in facets.levels:
                _curve(axis, facets.select(points, column, level), name, facets.look(level))
    for axis in every_axis(panels):
        axis.set_ylim(bottom=0)
    label(panels, facets.row_names([_NAMES[name] for name in QUANTILES]), "Simulated time (s)")
    facets.legend(figure)
    return figure, points, caption


def _not_observed(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    engine = source.provenance.engine
    caption = source.caption(f"Circuit queues of relays are not observed by the engine {engine}.")
    figure = canvas(TEXT_WIDTH_IN, 0.6, caption)
    figure.text(0.5, 0.7, f"Queues in relays: not observed by {engine}", ha="center", color=GREY)
    return figure, points, caption


def _curve(axis: Axes, rows: pl.DataFrame, name: str, drawn: Look) -> None:
    if rows.is_empty():
        return
    mean, low, high = (rows[column].cast(pl.Float64) for column in (name, f"{name}_low", f"{name}_high"))
    axis.fill_between(rows["second"], low, high, color=drawn.colour, alpha=0.22, linewidth=0)
    axis.plot(rows["second"], mean, color=drawn.colour, linestyle=drawn.dashes, linewidth=1.0)
