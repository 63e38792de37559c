"""The first seconds of the web clients' time to first byte, where a stair-step shows.

In: the streams of a plan. Out: a panel a facet on a linear axis; the mean curve over networks, and a thin one
for each network. Vertical lines stand a longest refill interval apart, so a step of that width
repeats in each field.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from plotting.cdf import KIND_NAMES
from plotting.facets import Facets, every_axis, label
from plotting.palette import look
from plotting.source import Source
from plotting.style import canvas
from plotting.ticks import seconds_formatter
from torsweep.stats.metrics import METRICS, STREAM_COLUMNS, downloads
from torsweep.units import NANOSECONDS_PER, parse_quantity

_STEPS = 400
"""Points of a curve: a step of a second over ten seconds has forty."""


def draw(source: Source, metric: str = "ttfb", kind: str = "web") -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    streams = source.tables.streams(STREAM_COLUMNS).filter(pl.col("kind").cast(pl.String) == kind)
    rows = downloads(streams, METRICS[metric], [*source.knobs, "seed"])
    incidence = rows.incidence()
    interval_s = _longest_interval_s(source.knobs)
    until_s = _until_s(incidence.quantiles(np.array([0.9]))[:, 0], interval_s)
    grid = np.linspace(0, until_s, _STEPS + 1)
    shares = incidence.at(grid)
    keys = rows.keys.with_row_index("_row")
    notes = ["Thick: mean over networks; thin: each network."] if len(source.provenance.seeds) > 1 else []
    if interval_s:
        notes.append(f"Vertical lines: {interval_s:g} s apart.")
    caption = source.caption(*notes)
    figure = canvas(facets.width_in, 0.75 + 1.55 * len(facets.rows), caption)
    panels = facets.panels(figure, [kind], sharex=True)
    points = []
    for axis, column in [panel for _, row in panels for panel in row]:
        for level in facets.levels:
            chosen = facets.select(keys, column, level)
            points.append(_curves(axis, level, grid, shares[chosen["_row"].to_numpy()], chosen.drop("_row")))
        axis.set_xlim(0, until_s)
        if interval_s and until_s / interval_s <= 12:
            axis.xaxis.set_major_locator(MultipleLocator(interval_s))
    for axis in every_axis(panels):
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axis.xaxis.set_major_formatter(seconds_formatter())
        axis.set_ylim(0, 1.02)
    label(panels, facets.row_names([KIND_NAMES[kind]]), f"{METRICS[metric].label} (s)")
    facets.legend(figure)
    return figure, pl.concat(points), caption


def _longest_interval_s(knobs: dict[str, list[str]]) -> float | None:
    levels = knobs.get("refill_interval")
    return max(parse_quantity(level, NANOSECONDS_PER, "100ms") for level in levels) / 1e9 if levels else None


def _until_s(ninth_deciles_s: np.ndarray, interval_s: float | None) -> float:
    """Far enough for nine in ten downloads of the slowest variant, in whole intervals, at most ten."""
    reached = ninth_deciles_s[np.isfinite(ninth_deciles_s)]
    slowest = float(reached.max()) if len(reached) else 1.0
    unit = interval_s if interval_s and interval_s >= 0.5 else 0.5
    return unit * min(max(np.ceil(slowest / unit), 3), 10)


def _curves(axis: Axes, level: str, grid: np.ndarray, shares: np.ndarray, keys: pl.DataFrame) -> pl.DataFrame:
    """Draw one level's curves; their points as a long table, ``seed`` null for the mean."""
    drawn = look(level)
    if keys.is_empty():
        return keys.with_columns(time_s=pl.lit(None, pl.Float64), share=pl.lit(None, pl.Float64))
    if len(shares) > 1:
        axis.plot(grid, shares.T, color=drawn.colour, linewidth=0.3, alpha=0.45)
    axis.plot(grid, shares.mean(axis=0), color=drawn.colour, linestyle=drawn.dashes)
    whose = pl.concat([keys.head(1).with_columns(pl.lit(None, pl.Int64).alias("seed")), keys])
    points = whose[np.repeat(np.arange(whose.height), len(grid))]
    return points.with_columns(
        pl.Series("time_s", np.tile(grid, whose.height)),
        pl.Series("share", np.concatenate([shares.mean(axis=0), shares.ravel()])),
    )
