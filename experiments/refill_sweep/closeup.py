"""The first seconds of the web clients' time to first byte, where a stair-step shows.

In: the streams of a plan. Out: closeup.csv: the share of downloads that got that far at equal steps of time,
by both clocks, for each network and as the mean over networks, whose ``seed`` is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.stats.statistic import KNOB_COLUMNS, Statistic, counts, numbers, texts
from torsweep.stats.streams.incidence import (
    CLOCKS,
    downloads,
    measured_downloads,
    metric_at,
    unless_perf_alone,
)
from torsweep.units import NANOSECONDS_PER, parse_quantity

CLOSEUP_BYTE, CLOSEUP_KIND = "ttfb", "web"

_STEPS = 400
"""Steps of a curve: a stair of a second over ten seconds has forty."""


def closeup(streams: pl.DataFrame, knobs: Mapping[str, Sequence[str]]) -> pl.DataFrame | None:
    """The knobs, ``clock``, ``seed``, ``time_s`` and ``share``; None for a plan without web clients."""
    of_kind = streams.filter(pl.col("kind").cast(pl.String) == CLOSEUP_KIND)
    if of_kind.is_empty():
        return None
    until_s, frames = 0.0, []
    for clock in CLOCKS:
        rows = downloads(of_kind, metric_at(CLOSEUP_BYTE, clock), [*knobs, "seed"])
        incidence = rows.incidence()
        until_s = until_s or _until_s(incidence.quantiles(np.array([0.9]))[:, 0], knobs)
        grid_s = np.linspace(0, until_s, _STEPS + 1)
        shares = incidence.at(grid_s)
        for _, chosen in rows.keys.with_row_index("_row").group_by(list(knobs), maintain_order=True):
            frame = _with_mean(chosen.drop("_row"), grid_s, shares[chosen["_row"].to_numpy()])
            frames.append(frame.with_columns(clock=pl.lit(clock)))
    return pl.concat(frames)


CLOSEUP = Statistic(
    "closeup",
    "a moment of the first seconds: the share of web downloads that have their first byte by then",
    KNOB_COLUMNS
    | texts("what starts the clock: the opening of the SOCKS connection, or the request", "clock")
    | counts("seed of the network; null: the mean over networks", "seed")
    | numbers("seconds since then", "time_s")
    | numbers("share of downloads", "share"),
    unless_perf_alone(lambda analysis: closeup(analysis.once(measured_downloads), analysis.levels)),
)


def longest_interval_s(knobs: Mapping[str, Sequence[str]]) -> float | None:
    """The longest refill interval of a plan; None where it does not vary one."""
    levels = knobs.get("refill_interval")
    return max(parse_quantity(level, NANOSECONDS_PER, "100ms") for level in levels) / 1e9 if levels else None


def _until_s(ninth_deciles_s: npt.NDArray[np.float64], knobs: Mapping[str, Sequence[str]]) -> float:
    """The end of the axis: the slowest variant's ninth decile, in whole intervals, at most ten of them."""
    interval_s = longest_interval_s(knobs)
    reached = ninth_deciles_s[np.isfinite(ninth_deciles_s)]
    slowest = float(reached.max()) if len(reached) else 1.0
    unit = interval_s if interval_s and interval_s >= 0.5 else 0.5
    return unit * min(max(np.ceil(slowest / unit), 3), 10)


def _with_mean(
    keys: pl.DataFrame, grid_s: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]
) -> pl.DataFrame:
    """The mean over the rows of ``shares`` first, then each of them; a row for each point."""
    whose = pl.concat([keys.head(1).with_columns(pl.lit(None, pl.Int64).alias("seed")), keys])
    return whose[np.repeat(np.arange(whose.height), len(grid_s))].with_columns(
        pl.Series("time_s", np.tile(grid_s, whose.height)),
        pl.Series("share", np.concatenate([shares.mean(axis=0), shares.ravel()])),
    )
