"""Means over networks with t-intervals.

In: one number a network. Out: :class:`Interval`, or arrays of them for a curve.

The replicates are independently sampled networks, so the network is the unit: downloads within a network
share relays and are far from independent, and an interval over downloads would be much too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over ``networks`` networks and its two-sided interval; NaN bounds: there is none."""

    mean: float
    low: float
    high: float
    networks: int
    confidence: float

    @property
    def known(self) -> bool:
        """Whether there is an interval: two networks or more, all with a value."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def t_interval(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Mean of ``values`` (one a network) ± t · s / √k.

    One network has a mean and no interval. A NaN (a median that a network never reached) leaves neither:
    averaging the networks that reached it would flatter the variant.
    """
    array = np.asarray(values, dtype=float)
    if len(array) == 0:
        return Interval(np.nan, np.nan, np.nan, 0, confidence)
    mean, low, high = bands(array[:, np.newaxis], confidence)
    return Interval(float(mean[0]), float(low[0]), float(high[0]), len(array), confidence)


def bands(values: npt.NDArray[np.float64], confidence: float = CONFIDENCE) -> tuple[npt.NDArray, ...]:
    """Mean, lower and upper bound of each column of ``values``, shape (networks, points).

    The bounds are pointwise. tornettools draws the same interval over runs at each of 1,000 quantiles and
    widens it by the resolution of its binned data; these times are exact to a microsecond, so that term
    is left out. With one network the bounds are NaN.
    """
    networks = len(values)
    mean = values.mean(axis=0)
    if networks < 2:
        nothing = np.full_like(mean, np.nan)
        return mean, nothing, nothing
    half = t_quantile(confidence, networks) * values.std(axis=0, ddof=1) / np.sqrt(networks)
    return mean, mean - half, mean + half


def t_quantile(confidence: float, networks: int) -> float:
    """Half-width of a two-sided interval in standard errors, for ``networks`` − 1 degrees of freedom."""
    return float(stats.t.ppf(0.5 + confidence / 2, networks - 1))


def t_p_value(values: npt.ArrayLike) -> float:
    """Two-sided p-value of Student's test that the mean of ``values`` is 0; NaN where there is no test."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2 or not np.isfinite(array).all():
        return float("nan")
    error = array.std(ddof=1) / np.sqrt(len(array))
    if error == 0:
        return 0.0 if array.mean() else 1.0
    return float(2 * stats.t.sf(abs(array.mean()) / error, len(array) - 1))


def bonferroni(confidence: float, comparisons: int) -> float:
    """Confidence of each of ``comparisons`` intervals that together cover with ``confidence``."""
    return 1 - (1 - confidence) / max(comparisons, 1)


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Holm's adjusted p-values, in the order given; NaN stays NaN and does not count as a comparison.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65–70.
    """
    given = np.asarray(p_values, dtype=float)
    adjusted = np.full_like(given, np.nan)
    tested = np.flatnonzero(np.isfinite(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    steps = given[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
