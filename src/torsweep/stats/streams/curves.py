"""Curves over networks, and the first seconds of the web clients' time to first byte, where a stair-step
shows.

In: the streams of a plan. Out: curves.csv, a row for each quantile of a variant; and closeup.csv: the share
of downloads that got that far at equal steps of time, by both clocks, for each network and as the mean over
networks, whose ``seed`` is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep.config.knobs import network_levels
from torsweep.config.traffic import KINDS
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.inference.intervals import FEWEST_FOR_BANDS, SHORTEST_S, bands, log_interval
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    NETWORKS_COLUMN,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import (
    CLOCKS,
    METRICS,
    Floats,
    downloads,
    measured_downloads,
    metric_at,
    unless_perf_alone,
)
from torsweep.stats.streams.medians import TOP
from torsweep.units import NANOSECONDS_PER, parse_quantity

CLOSEUP_BYTE, CLOSEUP_KIND = "ttfb", "web"

_STEPS = 400
"""Steps of a curve: a stair of a second over ten seconds has forty."""

CURVE_PROBABILITIES = (np.arange(1000) + 0.5) / 1000
"""The 1,000 quantiles of a curve: the middles of 1,000 equal steps from 0 to 1."""


def curves(
    streams: pl.DataFrame,
    knobs: Sequence[str],
    metrics: Sequence[str] = ("ttfb", "ttlb"),
    baseline: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The mean curve over networks of each of ``metrics``, with its bands.

    Means and pointwise t-intervals are those of logarithms, as the axis is logarithmic. Beside the interval
    of the mean stands that of the difference from ``baseline``, paired by network, around the same curve:
    where it leaves the baseline's curve out, the two differ; fewer than four networks have none. Curve and
    bands end with the last quantile that every network reaches. The columns are those of :data:`CURVES`.
    """
    by = ["kind", *knobs, "seed"]
    frames = []
    for metric in (METRICS[name] for name in metrics):
        rows = downloads(streams, metric, by)
        incidence = rows.incidence()
        quantiles, tops = incidence.quantiles(CURVE_PROBABILITIES), incidence.top()
        medians = incidence.quantiles(np.array([0.5]))[:, 0]
        logs = np.log(np.maximum(quantiles, SHORTEST_S))
        numbered = rows.keys.with_row_index("_row")
        for key, chosen in numbered.group_by(["kind", *knobs], maintain_order=True):
            index = chosen["_row"].to_numpy()
            mean, low, high = map(np.exp, bands(logs[index]))
            paired_low, paired_high = _paired_band(logs, numbered, chosen, knobs, baseline or {})
            frame = pl.DataFrame(
                {
                    "share": CURVE_PROBABILITIES,
                    "time_s": mean,
                    "low_s": low,
                    "high_s": high,
                    "paired_low_s": paired_low,
                    "paired_high_s": paired_high,
                    "networks": len(index),
                    "median_s": log_interval(medians[index]).mean,
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
    return pl.concat(frames)


def _paired_band(
    logs: Floats,
    numbered: pl.DataFrame,
    chosen: pl.DataFrame,
    knobs: Sequence[str],
    baseline: Mapping[str, str],
) -> tuple[Floats, Floats]:
    """The band of ``chosen``'s curve from its difference to the baseline's; NaN for the baseline, and for
    variants on other networks."""
    nothing = np.full(logs.shape[1], np.nan)
    variant = chosen.row(0, named=True)
    # A dimension that the baseline does not name, such as the source, is the same on both sides.
    levels = {knob: baseline.get(knob, str(variant[knob])) for knob in knobs}
    differing = [knob for knob, level in levels.items() if str(variant[knob]) != level]
    if not differing or any(knob in network_levels(levels) for knob in differing):
        return nothing, nothing
    reference = at_levels(numbered, {"kind": variant["kind"], **levels})
    pairs = chosen.join(reference, on="seed", suffix="_reference").sort("seed")
    if pairs.height < max(chosen.height, FEWEST_FOR_BANDS):
        return nothing, nothing
    of_variant = logs[pairs["_row"].to_numpy()]
    mean, low, high = bands(of_variant - logs[pairs["_row_reference"].to_numpy()])
    around = of_variant.mean(axis=0)
    return np.exp(around + low - mean), np.exp(around + high - mean)


CURVES = Statistic(
    "curves",
    "a quantile of a variant: by when that share of downloads is complete, over networks",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | numbers("the quantile", "share")
    | numbers(
        "geometric mean over networks and 95 % interval (of two or three networks the lowest and the"
        " highest), seconds",
        "time_s",
        "low_s",
        "high_s",
    )
    | numbers(
        "the same with the interval of the difference from the baseline, paired by network",
        "paired_low_s",
        "paired_high_s",
    )
    | NETWORKS_COLUMN
    | numbers("geometric mean of the networks' medians, seconds", "median_s")
    | TOP,
    unless_perf_alone(
        lambda analysis: curves(
            analysis.once(measured_downloads),
            analysis.knobs,
            ("ttfb", "ttlb") if analysis.tables.kinds == KINDS else tuple(METRICS),
            analysis.baseline,
        )
    ),
)


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
