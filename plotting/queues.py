"""Queues in relays over time.

In: the relays of a plan. Out: the longest circuit queues of each second at the median relay and at
the relay of the ninth decile, a column of panels a facet, a curve a level; mean over networks and band.
Where the engine cannot look into tor's queues the figure says so instead.

The maximum within a second is shown, not the value at its end: a relay that refills once a second is
always seen at the same phase there.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.facets import Facets, every_axis, label
from plotting.palette import look
from plotting.source import Source
from plotting.style import GREY, TEXT_WIDTH_IN, canvas
from torsweep.stats.intervals import bands

QUANTILES = {"ninth_decile": 0.9, "median": 0.5}
"""Over the relays of a network."""

_NAMES = {"ninth_decile": "Ninth decile, cells", "median": "Median relay, cells"}
_MEAN_OVER_S = 5


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    by = [*source.knobs, "seed"]
    relays = source.tables.relays(["second", "queued_cells_max"])
    if relays["queued_cells_max"].null_count() == relays.height:
        return _not_observed(source, relays)
    points = (
        relays.group_by([*by, "second"])
        .agg(pl.col("queued_cells_max").quantile(q, "linear").alias(name) for name, q in QUANTILES.items())
        .with_columns((pl.col("second") // _MEAN_OVER_S * _MEAN_OVER_S).alias("second"))
        .group_by([*by, "second"])
        .agg(pl.col(*QUANTILES).mean())
        .sort([*by, "second"])
    )
    caption = source.caption(
        f"Most cells in a relay's circuit queues within a second; mean over {_MEAN_OVER_S} s.",
        source.band_note(),
    )
    figure = canvas(facets.width_in, 0.6 + 1.2 * len(QUANTILES) * len(facets.rows), caption)
    panels = facets.panels(figure, list(QUANTILES), sharex=True, sharey="row")
    for name, row in panels:
        for axis, column in row:
            for level in facets.levels:
                _curve(axis, facets.select(points, column, level), name, level)
    for axis in every_axis(panels):
        axis.set_ylim(bottom=0)
    label(panels, facets.row_names([_NAMES[name] for name in QUANTILES]), "Simulated time (s)")
    facets.legend(figure)
    return figure, points, caption


def _not_observed(source: Source, relays: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    engine = source.tables.provenance.engine
    caption = source.caption(f"Circuit queues of relays are not observed by the engine {engine}.")
    figure = canvas(TEXT_WIDTH_IN, 0.6, caption)
    figure.text(0.5, 0.7, f"Queues in relays: not observed by {engine}", ha="center", color=GREY)
    return figure, relays.head(0), caption


def _curve(axis: Axes, rows: pl.DataFrame, name: str, level: str) -> None:
    if rows.is_empty():
        return
    wide = rows.pivot("second", index="seed", values=name).sort("seed").drop("seed")
    seconds = np.array([float(second) for second in wide.columns])
    mean, low, high = bands(wide.to_numpy().astype(float))
    drawn = look(level)
    axis.fill_between(seconds, np.maximum(low, 0), high, color=drawn.colour, alpha=0.22, linewidth=0)
    axis.plot(seconds, mean, color=drawn.colour, linestyle=drawn.dashes, linewidth=1.0)
