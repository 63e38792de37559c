"""How many networks would decide an unclear comparison.

In: the values behind a comparison that is unclear, one a network. Out: the number of networks at which its
interval is half as wide, and about the number at which the comparison would be decided.

Both assume that further networks are like the present ones: of means, that mean and spread stay; of medians
of counts and shares, that each value stays as frequent as it is. Where those lie is only known to within the
interval, so the second number is a guide and not a promise: it is too small where the values are farther from
the edge by chance, and too large where they are nearer. Even with networks drawn from just such values, that
number of them decides the comparison in about half of all cases only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torsweep.stats.intervals import CONFIDENCE, Interval, median_interval, t_quantile

MOST = 10_000
"""The most networks that are considered: if more would be needed, the answer is that more networks cannot
decide it."""

Outlook = Callable[[int, float], Interval]
"""(networks, confidence) → the interval over so many networks like those there are."""


def outlook(values: np.ndarray, counted: bool) -> Outlook:
    """What intervals over more networks like ``values`` (two or more, none NaN) would be.

    ``counted``: the interval is one of the median. So is that of values that are all alike, which have no
    spread to go by.
    """
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))

    def of_mean(networks: int, confidence: float) -> Interval:
        half = spread * t_quantile(confidence, networks) / np.sqrt(networks)
        return Interval(mean, mean - half, mean + half, networks, confidence)

    def of_median(networks: int, confidence: float) -> Interval:
        return median_interval(_repeated(values, networks), confidence)

    return of_median if counted or np.ptp(values) == 0 else of_mean


def networks_to_halve(values: np.ndarray, counted: bool, confidence: float = CONFIDENCE) -> int | None:
    """The number at which the interval of ``values`` is half as wide; None: it has no width, or never."""
    ahead, networks = outlook(values, counted), len(values)
    goal = _width(ahead(networks, confidence)) / 2
    return _first(lambda more: _width(ahead(more, confidence)) <= goal, networks) if goal > 0 else None


def networks_to_show(
    values: np.ndarray, counted: bool, confidence: float, shown: Callable[[Interval], bool]
) -> int | None:
    """About the number at which ``shown`` would read the interval of such values as so; None: never.

    ``shown`` has to be true of every interval within one that it is true of.
    """
    ahead = outlook(values, counted)

    def decided(networks: int) -> bool:
        interval = ahead(networks, confidence)
        return interval.known and shown(interval)

    return _first(decided, len(values))


def _repeated(values: np.ndarray, networks: int) -> np.ndarray:
    """``networks`` values with the quantiles of ``values``: for a multiple of their number, each as often."""
    ranks = np.arange(1, networks + 1)
    return np.sort(values)[-(-ranks * len(values) // networks) - 1]


def _width(interval: Interval) -> float:
    return interval.high - interval.low


def _first(decided: Callable[[int], bool], networks: int) -> int | None:
    """The smallest number above ``networks`` that is ``decided``, as every larger one is; None beyond MOST.

    Ranks are whole numbers, so of medians a larger number or two may be undecided again.
    """
    if not decided(MOST):
        return None
    low, high = networks, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high
