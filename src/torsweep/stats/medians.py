"""Quantiles of each run, curves over networks, and counts of outcomes.

In: the streams of a plan (:meth:`torsweep.tables.reading.PlanTables.streams`). Out: frames for medians.csv
(a row for each run), curves.csv (a row for each quantile) and outcomes.csv (a row for each variant).

The estimand is the median of a run's downloads. Closed-loop clients that are fast download more, so the
median over clients of each client's own median stands beside it: there every client counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.clients import KINDS
from torsweep.engines.table_schema import OUTCOMES
from torsweep.stats.intervals import bands
from torsweep.stats.metrics import METRICS, Metric, downloads

QUANTILES = {"p10_s": 0.1, "p25_s": 0.25, "median_s": 0.5, "p75_s": 0.75, "p90_s": 0.9}
"""Quantiles over the downloads of a run that are compared between variants, by column, seconds."""

CLIENT_MEDIAN = "client_median_s"

CURVE_PROBABILITIES = (np.arange(1000) + 0.5) / 1000
"""The 1,000 quantiles of a curve: the middles of 1,000 equal steps from 0 to 1."""


def run_quantiles(streams: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Quantiles of each metric in every run.

    Columns: metric, kind, the knobs, seed, downloads, clients (counts), the :data:`QUANTILES`, the median
    over clients, and ``top``, the share at which the curve ends. Null: too few downloads ever completed.
    """
    by = ["kind", *knobs, "seed"]
    sizes = streams.group_by(by).agg(
        pl.len().alias("downloads"), pl.col("client").n_unique().alias("clients")
    )
    frames = []
    for metric in METRICS.values():
        rows = downloads(streams, metric, by)
        incidence = rows.incidence()
        found = incidence.quantiles(np.array(list(QUANTILES.values())))
        columns = [pl.Series(name, found[:, i]) for i, name in enumerate(QUANTILES)]
        frame = rows.keys.with_columns(*columns, pl.Series("top", incidence.top()))
        frame = frame.join(_client_medians(streams, metric, by), on=by, how="left", maintain_order="left")
        frame = frame.join(sizes, on=by, how="left", maintain_order="left")
        frames.append(frame.with_columns(pl.lit(metric.name).alias("metric")))
    return (
        pl.concat(frames)
        .select("metric", *by, "downloads", "clients", *QUANTILES, CLIENT_MEDIAN, "top")
        .with_columns(pl.col(pl.Float64).fill_nan(None))
    )


def _client_medians(streams: pl.DataFrame, metric: Metric, by: list[str]) -> pl.DataFrame:
    rows = downloads(streams, metric, [*by, "client"])
    # A client that never reaches its median is slower than any that does.
    medians = np.nan_to_num(rows.incidence().quantiles(np.array([0.5]))[:, 0], nan=np.inf)
    middle = pl.col(CLIENT_MEDIAN).quantile(0.5, interpolation="lower")
    return (
        rows.keys.with_columns(pl.Series(CLIENT_MEDIAN, medians))
        .group_by(by)
        .agg(pl.when(middle.is_finite()).then(middle).alias(CLIENT_MEDIAN))
    )


def curves(streams: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """The mean curve over networks of times from the opening of the SOCKS connection, with its band.

    A row for each metric, kind, variant and quantile: ``share`` (the quantile), ``time_s`` (mean over
    networks of the time by which that share is complete), ``low_s`` and ``high_s`` (pointwise 95 %
    t-interval, not below 0; null with one network), ``networks``, and of the whole curve ``median_s``
    (where it crosses one half; null: it ends below) and ``top`` (mean over networks of where it ends).
    Quantiles that some network never reaches are left out.
    """
    by = ["kind", *knobs, "seed"]
    frames = []
    for metric in METRICS.values():
        if metric.after_command:
            continue
        rows = downloads(streams, metric, by)
        incidence = rows.incidence()
        found, tops = incidence.quantiles(CURVE_PROBABILITIES), incidence.top()
        for key, chosen in rows.keys.with_row_index("_row").group_by(["kind", *knobs], maintain_order=True):
            index = chosen["_row"].to_numpy()
            mean, low, high = bands(found[index])
            frame = pl.DataFrame(
                {
                    "share": CURVE_PROBABILITIES,
                    "time_s": mean,
                    "low_s": np.maximum(low, 0.0),
                    "high_s": high,
                    "networks": len(index),
                    "median_s": _middle(mean),
                    "top": tops[index].mean(),
                }
            )
            keys = [
                pl.lit(level, streams.schema[name]).alias(name)
                for name, level in zip(["kind", *knobs], key, strict=True)
            ]
            frames.append(
                frame.filter(pl.col("time_s").is_finite()).select(
                    pl.lit(metric.name).alias("metric"), *keys, pl.all()
                )
            )
    return pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None))


def _middle(times: NDArray[np.float64]) -> float:
    """Where a curve at :data:`CURVE_PROBABILITIES` crosses one half, between two of them; NaN: never."""
    return float(np.interp(0.5, CURVE_PROBABILITIES, times))


def downloads_by_kind(outcomes: pl.DataFrame) -> dict[str, int]:
    """Downloads of each kind of client in what :func:`outcome_counts` returns, over all variants."""
    counts = dict(outcomes.group_by("kind").agg(pl.col("downloads").sum()).iter_rows())
    return {kind: counts[kind] for kind in KINDS if kind in counts}


def outcome_counts(streams: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """Downloads by outcome, for every kind and variant, over all networks; with the share that failed."""
    counts = streams.group_by(["kind", *knobs], maintain_order=True).agg(
        pl.len().alias("downloads"), *((pl.col("outcome") == word).sum().alias(word) for word in OUTCOMES)
    )
    failed = (pl.col("failed") + pl.col("timeout")) / pl.col("downloads")
    return counts.sort(["kind", *knobs]).with_columns(failed.alias("failure_share"))
