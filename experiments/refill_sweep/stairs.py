"""Is there a stair-step of a given period in a distribution of times?

In: the times of one run's downloads and a period (the refill interval). Out: :class:`Stairs`; and of a plan,
:class:`StairTable`, which measures what claims ask for.

A stair-step in a CDF is a density that rises and falls again and again with one period. A resultant length
of the times modulo the period cannot tell that from a single narrow peak, which also has one phase, so
the statistic asks for *recurrence*:

1. Count the times in bins of 1/20 of a period, n_j.
2. e_j, the count a smooth density would have: a centred moving average over one period, the trend of
   classical seasonal decomposition. It removes any pattern of that period and keeps a linear trend.
3. d_j = n_j / e_j − 1 is the relative deviation. Its product with the deviation one period later,
   averaged over the bins with weight √(e_j e_j+20), is the recurrent part of its variance: the noise of
   different bins is independent, so counting noise adds nothing on average, and neither does a peak that
   is in one period only.
4. The **depth** is its square root, with its sign: the relative deviation (r.m.s.) of the density that comes
   back each period. A sine of relative amplitude a has depth a/√2; a smooth density has depth 0.

Stairs have two grades. They are **pronounced** from a depth of 0.354 on: there, for a sine, a = ½ and the
risers are three times as steep as the treads. They are **present** when the depth is above that of a smooth
distribution of the same runs, paired by network.

The smooth distribution is that of the same times, each moved by an independent uniform half period either
way, which keeps its shape and wipes the period out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from torsweep import seeds
from torsweep.errors import InputError
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import ENTRY, METRICS, measured_downloads
from torsweep.units import NANOSECONDS_PER, parse_quantity

PRONOUNCED_DEPTH = 0.5 / np.sqrt(2)
BINS_PER_PERIOD = 20
PERIODS_SEEN = 200
"""Periods from the front of the distribution on that the statistic looks at."""

FRONT = 0.01
"""Bins before this quantile are left out: ahead of the first download there is nothing to recur."""

LEAST_WEIGHT_SHARE = 0.05
"""Where less than this share of downloads has weight (nearly all are within one period), the depth is
reckoned as if this share had: a step that hardly any download takes is not seen in a CDF."""

RESAMPLES = 99
"""Smooth distributions that a depth is compared with."""

FEWEST_TIMES = 100
"""Fewest downloads that give a depth."""


@dataclass(frozen=True)
class Stairs:
    """Depth of the stair-step; mean and 97.5th percentile of smooth distributions' of the same times.

    NaN where there are fewer than 100 downloads, or so few for the number of bins that counting noise
    (one standard error) would be a visible step.
    """

    depth: float
    smooth_mean: float
    smooth_null: float

    @property
    def above_smooth(self) -> bool:
        """Whether the depth is beyond what a smooth distribution of this shape and size gives."""
        return bool(self.depth > self.smooth_null)


def stairs(times_s: npt.NDArray[np.float64], period_s: float, generator: np.random.Generator) -> Stairs:
    """The stair-step of period ``period_s`` in ``times_s`` (seconds, in any order, no NaN)."""
    front_s = float(np.quantile(times_s, FRONT)) if len(times_s) else 0.0
    depth = stair_depth(times_s, period_s, front_s)
    if not np.isfinite(depth):
        return Stairs(depth, np.nan, np.nan)
    null = [
        stair_depth(times_s + generator.uniform(-period_s / 2, period_s / 2, len(times_s)), period_s, front_s)
        for _ in range(RESAMPLES)
    ]
    known = [value for value in null if np.isfinite(value)]
    if not known:
        return Stairs(depth, np.nan, np.nan)
    return Stairs(depth, float(np.mean(known)), float(np.quantile(known, 0.975)))


def stair_depth(times_s: npt.NDArray[np.float64], period_s: float, front_s: float | None = None) -> float:
    """The depth of the module's docstring; NaN where there is too little to see one.

    ``front_s`` is the quantile :data:`FRONT` of the times where it is known already.
    """
    if len(times_s) < FEWEST_TIMES:
        return float("nan")
    lag = BINS_PER_PERIOD
    front_s = float(np.quantile(times_s, FRONT)) if front_s is None else front_s
    front = int(np.floor(front_s / period_s * lag))
    bins = np.floor(times_s / period_s * lag).astype(np.int64)
    bins = bins[(bins >= front - lag // 2) & (bins < front + PERIODS_SEEN * lag)] - (front - lag // 2)
    counts = np.bincount(bins, minlength=3 * lag).astype(float)
    counts = np.concatenate([counts, np.zeros(lag)])
    # A moving average over one period, centred: 20 + 1 bins, the outer two at half weight.
    kernel = np.ones(lag + 1)
    kernel[[0, -1]] = 0.5
    smooth = np.convolve(counts, kernel / lag, mode="valid")
    deviation = counts[lag // 2 : len(counts) - lag // 2] - smooth
    weight = np.sqrt(smooth[:-lag] * smooth[lag:])
    seen = weight > 0
    product = (deviation[:-lag] * deviation[lag:])[seen] / weight[seen]
    total = max(weight.sum(), LEAST_WEIGHT_SHARE * len(times_s))
    # Each product has variance 1 without a step: with thin counts their mean alone would look like one.
    if np.sqrt(seen.sum()) / total > PRONOUNCED_DEPTH**2:
        return float("nan")
    recurrent = product.sum() / total
    return float(np.sign(recurrent) * np.sqrt(abs(recurrent)))


@dataclass
class StairTable:
    """Stair-steps measured so far: (kind, metric, variant, period, seed) → :class:`Stairs`."""

    streams: pl.DataFrame
    measured: dict[tuple[str, str, tuple[tuple[str, str], ...], str, int], Stairs] = field(
        default_factory=dict
    )

    @cached_property
    def networks(self) -> list[int]:
        """Seeds of all networks of the plan."""
        return self.streams["seed"].unique().sort().to_list()

    def steps(self, kind: str, metric: str, variant: Mapping[str, str], period: str) -> list[Stairs]:
        """The step of width ``period`` (``100ms``) in each network of the plan, in order of seeds.

        Without a depth in a network in which too few downloads of ``variant`` got that far.
        """
        levels = tuple(variant.items())
        chosen = at_levels(self.streams, {**variant, "kind": kind})
        chosen = chosen.filter(pl.col(METRICS[metric].column).is_not_null())
        steps = []
        for seed in self.networks:
            key = (kind, metric, levels, period, seed)
            if key not in self.measured:
                times_s = chosen.filter(pl.col("seed") == seed)[METRICS[metric].column].to_numpy() / 1e6
                generator = seeds.stream(seed, "stairs", *map(str, key))
                self.measured[key] = stairs(times_s, _seconds(period), generator)
            steps.append(self.measured[key])
        return steps

    def rows(self) -> list[dict[str, object]]:
        """One for each variant, period and network: the depth, and the most a smooth distribution gives."""
        return [
            {
                "metric": metric,
                "kind": kind,
                **dict(variant),
                "period": period,
                "seed": seed,
                "depth": step.depth,
                "smooth_mean": step.smooth_mean,
                "smooth_null": step.smooth_null,
                "above_smooth": step.above_smooth,
            }
            for (kind, metric, variant, period, seed), step in self.measured.items()
        ]


def stair_table(analysis: Analysis) -> StairTable:
    """The stair-steps of a plan, of downloads that began after the warm-up; none is measured yet."""
    return StairTable(analysis.once(measured_downloads).filter(pl.col(ENTRY) == 0))


def _seconds(period: str) -> float:
    try:
        return parse_quantity(period, NANOSECONDS_PER, "100ms") / 1e9
    except ValueError as error:
        raise InputError(
            "a stair-step needs levels that are durations", key="claims", value=period
        ) from error
