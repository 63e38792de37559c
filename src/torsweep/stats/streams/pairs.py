"""How much longer a download takes on one side of a comparison than on the other.

In: the downloads of a plan (:func:`torsweep.stats.streams.incidence.measured_downloads`), and two variants.
Out: for each network the logarithm of variant / reference, the interquartile mean over pairs of downloads.

The n-th download of a client has the same server, size and, with common paths, the same relays on both sides,
so that what makes one download slower than another cancels within the pair. The mean over the middle half of
the pairs is unmoved by the few that another download happened to disturb. Only downloads that began after
the warm-up count. Where one side failed, or was cut off when it had already taken longer than the other, it
is the longer one, by however much: it counts at the end of the order. A pair of which that is not known is
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from torsweep.runsets.reading import at_levels
from torsweep.stats.streams.incidence import ENTRY, OPENING, Floats, Metric

if TYPE_CHECKING:
    from torsweep.stats.statistic import Levels

PAIR = ("seed", "client", "stream")
"""What two downloads have in common that are the same."""


def paired_log_ratios(
    streams: pl.DataFrame, metric: Metric, reference: Levels, variant: Levels, seeds: Sequence[int]
) -> Floats:
    """The logarithm of ``variant`` over ``reference`` for each of ``seeds``; NaN where there is none.

    ``streams`` are downloads of one kind.
    """
    return paired_changes(streams, metric, reference, variant, seeds)[0]


def paired_changes(
    streams: pl.DataFrame, metric: Metric, reference: Levels, variant: Levels, seeds: Sequence[int]
) -> tuple[Floats, Floats]:
    """Interquartile means by network: of the logarithms of the ratio, and of differences in seconds."""
    one, other = (_times(streams, metric, levels) for levels in (reference, variant))
    ratio = log_ratios(*(pl.col(name) for name in ("time", "least", "time_other", "least_other")))
    pairs = one.join(other, on=PAIR, suffix="_other").select("seed", "time", "time_other", ratio=ratio)
    pairs = pairs.drop_nulls("ratio")
    # Where one side is longer by an unknown factor, it is so by an unknown time.
    less = (pl.col("time_other") - pl.col("time")) / 1e6
    pairs = pairs.with_columns(
        difference=pl.when(pl.col("ratio").is_infinite()).then("ratio").otherwise(less)
    )
    by_seed = {
        seed: [interquartile_mean(each[name].to_numpy()) for name in ("ratio", "difference")]
        for (seed,), each in pairs.group_by("seed")
    }
    changes = np.array([by_seed.get(seed, [np.nan] * 2) for seed in seeds], np.float64).reshape(-1, 2)
    return changes[:, 0], changes[:, 1]


def _times(streams: pl.DataFrame, metric: Metric, levels: Levels) -> pl.DataFrame:
    """The time of each download at ``levels``: infinite where it failed, null where it was cut off, with the
    ``least`` that it took."""
    if ENTRY in streams.columns:
        streams = streams.filter(pl.col(ENTRY) <= 0)
    chosen = at_levels(streams, levels)
    zero_us: pl.Expr = pl.lit(0) if metric.clock == OPENING else pl.col("command_us")
    got = pl.col(metric.column).cast(pl.Float64)
    time = got.fill_null(pl.when(pl.col("outcome") != "unfinished").then(np.inf))
    return chosen.select(*PAIR, time=time, least=time.fill_null(pl.col("observed_us") - zero_us))


def log_ratios(time: pl.Expr, least: pl.Expr, time_other: pl.Expr, least_other: pl.Expr) -> pl.Expr:
    """The logarithm of ``time_other`` / ``time``, infinite where one is longer by an unknown factor, and null
    where that is not known either."""
    both, failed = (time_other / time).log(), time.is_infinite() & time_other.is_infinite()
    return (
        pl.when(time.is_not_null() & time_other.is_not_null() & ~failed)
        .then(both)
        .when(time.is_finite() & time_other.is_null() & (least_other >= time))
        .then(np.inf)
        .when(time.is_null() & time_other.is_finite() & (least >= time_other))
        .then(-np.inf)
    )


def interquartile_mean(values: Floats) -> float:
    """The mean of ``values`` but for the quarter at each end; NaN where there is none, or none that is
    finite."""
    cut = len(values) // 4
    middle = np.sort(values)[cut : len(values) - cut]
    return float(middle.mean()) if len(middle) and np.isfinite(middle).all() else float("nan")
