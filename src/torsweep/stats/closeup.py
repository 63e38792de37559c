"""The first seconds of the web clients' time to first byte, where a stair-step shows.

In: the streams of a plan. Out: a frame for closeup.csv: the share of downloads that got that far at equal
steps of time, for each network and as the mean over networks, whose ``seed`` is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.stats.metrics import METRICS, downloads
from torsweep.units import NANOSECONDS_PER, parse_quantity

METRIC, KIND = "ttfb", "web"

_STEPS = 400
"""Steps of a curve: a stair of a second over ten seconds has forty."""


def closeup(streams: pl.DataFrame, knobs: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The knobs, ``seed``, ``time_s`` and ``share``; a plan without web clients has no row."""
    of_kind = streams.filter(pl.col("kind").cast(pl.String) == KIND)
    if of_kind.is_empty():
        return of_kind.select(*knobs, "seed", time_s=pl.lit(0.0), share=pl.lit(0.0))
    rows = downloads(of_kind, METRICS[METRIC], [*knobs, "seed"])
    incidence = rows.incidence()
    grid_s = np.linspace(0, _until_s(incidence.quantiles(np.array([0.9]))[:, 0], knobs), _STEPS + 1)
    shares = incidence.at(grid_s)
    frames = []
    for _, chosen in rows.keys.with_row_index("_row").group_by(list(knobs), maintain_order=True):
        frames.append(_with_mean(chosen.drop("_row"), grid_s, shares[chosen["_row"].to_numpy()]))
    return pl.concat(frames)


def longest_interval_s(knobs: Mapping[str, Sequence[str]]) -> float | None:
    """The longest refill interval of a plan; None where it does not vary one."""
    levels = knobs.get("refill_interval")
    return max(parse_quantity(level, NANOSECONDS_PER, "100ms") for level in levels) / 1e9 if levels else None


def _until_s(ninth_deciles_s: npt.NDArray[np.float64], knobs: Mapping[str, Sequence[str]]) -> float:
    """Far enough for nine in ten downloads of the slowest variant, in whole intervals, at most ten."""
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
