"""Curves over networks.

In: the streams of a plan. Out: curves.csv, a row for each quantile of a variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
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
    numbers,
)
from torsweep.stats.streams.incidence import (
    METRICS,
    Floats,
    downloads,
    measured_downloads,
    unless_perf_alone,
)
from torsweep.stats.streams.medians import TOP

CURVE_PROBABILITIES = (np.arange(1000) + 0.5) / 1000
"""The 1,000 quantiles of a curve: the middles of 1,000 equal steps from 0 to 1."""


def curves(
    streams: pl.DataFrame,
    knobs: Sequence[str],
    metrics: Sequence[str] = ("ttfb", "ttlb"),
    baseline: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The mean curve over networks of each of ``metrics``, with its bands.

    Means and pointwise t-intervals are those of logarithms, as the axis is logarithmic. The band of the
    difference from ``baseline``, paired by network, is around the same curve; fewer than four networks have
    none. Curve and bands end with the last quantile that every network reaches. The columns are those of
    :data:`CURVES`.
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
