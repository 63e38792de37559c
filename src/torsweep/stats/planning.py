"""How many networks would say more.

In: the values behind a comparison that is unclear, one a network. Out: the number of networks at which
intervals are half as wide, and about the number at which a comparison would be decided.

Both take it that further networks are like those there are: the mean and the spread stay. The mean is only
known to within the interval, so the second number is a guide and not a promise: it is too small where the
mean is farther from the edge by chance, and too large where it is nearer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torsweep.stats.intervals import Interval, t_quantile

MOST = 10_000
"""Nobody samples more networks than this: beyond it, the answer is that it cannot be decided this way."""


def networks_to_halve(networks: int, confidence: float) -> int:
    """The number at which a t-interval of ``networks`` networks (two or more) is half as wide."""
    goal = _half_width(networks, confidence) / 2
    return _first(lambda more: _half_width(more, confidence) <= goal, networks)


def networks_to_show(values: np.ndarray, confidence: float, shown: Callable[[Interval], bool]) -> int | None:
    """About the number at which ``shown`` would read a t-interval of these values as so; None: never.

    ``shown`` has to be true of every interval within one that it is true of.
    """
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))

    def decided(networks: int) -> bool:
        half = spread * _half_width(networks, confidence)
        return shown(Interval(mean, mean - half, mean + half, networks, confidence))

    return _first(decided, len(values)) if decided(MOST) else None


def _half_width(networks: int, confidence: float) -> float:
    """Half the width of a t-interval, in standard deviations of the values."""
    return t_quantile(confidence, networks) / np.sqrt(networks)


def _first(decided: Callable[[int], bool], networks: int) -> int:
    """The smallest number above ``networks`` that is ``decided``, as every larger one is; MOST at most."""
    low, high = networks, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high
