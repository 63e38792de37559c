"""Intervals of a sweep whose claims are judged after each batch of networks, until they are decided.

In: one number for each network, in the order in which the networks were added, and the numbers of networks at
which there is an interim analysis. Out: an :class:`~torsweep.stats.inference.intervals.Interval` whose
confidence holds although the sweep ends when its data say so.

The t-intervals of all interim analyses cover the mean *together* with the confidence asked for (repeated
confidence intervals: Jennison and Turnbull, Journal of the Royal Statistical Society B 51, 1989, 305–361), so
that a sweep may end at any of them, for whatever reason. Their intersection is therefore an interval of that
confidence too, and it can only shrink: no later analysis reverses a decision. If the intersection is empty,
at least one of the intervals has missed the value; the last interval is then used. An analysis of values that
were all alike says nothing of the spread and is passed over, unless it is the last.

The error is spent by a function of the share of networks that there are (Lan and DeMets, Biometrika 70, 1983,
659–663), here the one that they take after O'Brien and Fleming: hardly anything at first, where few networks
with a skewed value cover least, and the last intervals are nearly as narrow as that of a sweep of a fixed
size. The bounds follow from the recursive integration of Armitage, McPherson and Rowe (Journal of the Royal
Statistical Society A 132, 1969, 235–244) for known variance; a bound's p-value is then taken to the
t-distribution of the analysis (the significance level approach of Pocock, Biometrika 64, 1977, 191–199).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from torsweep.errors import InputError
from torsweep.stats.inference.intervals import Interval, t_interval

NODES = 256
"""Points of the Gauss–Legendre rule between the bounds of an analysis; 128 give the same six digits."""

FARTHEST_Z = 12.0
"""No bound is farther out: beyond it lies less than 1e-32 of a normal distribution."""

Spending = Callable[[float, float], float]
"""(share of the networks from 0 to 1, error of all analyses) → error spent by then."""


def obrien_fleming_spending(share: float, error: float) -> float:
    """Twice what each of two one-sided tests of half the error spends: 4 (1 − Φ(z(1 − error/4) / √share))."""
    return float(4 * special.ndtr(special.ndtri(error / 4) / np.sqrt(share)))


def interim_confidences(
    networks: Sequence[int], confidence: float, spending: Spending = obrien_fleming_spending
) -> npt.NDArray[np.float64]:
    """Two-sided confidence of the t-interval at each interim analysis, of ``networks``, which rise.

    The last entry is the most networks there may be. With one analysis it is ``confidence`` itself.
    """
    shares = np.asarray(networks, dtype=float) / networks[-1]
    spent = np.array([spending(share, 1 - confidence) for share in shares])
    return 2 * special.ndtr(normal_bounds(shares, np.diff(spent, prepend=0.0))) - 1


def normal_bounds(
    shares: npt.NDArray[np.float64], crossing: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Bounds c of |Z| at each interim analysis, first crossed there with the probabilities ``crossing``.

    ``shares`` are the parts of the information that each has, rising to 1. The score at an analysis is a
    Brownian motion at the time ``share``; Z is the score over √share.
    """
    bounds = np.empty(len(shares))
    points, weights = np.polynomial.legendre.leggauss(NODES)
    # Before the first analysis, all probability is at a score of 0.
    scores, mass, before = np.zeros(1), np.ones(1), 0.0
    for number, (share, error) in enumerate(zip(shares, crossing, strict=True)):
        spread = np.sqrt(share - before)
        farthest_score = _farthest_score(error, scores, mass, spread, FARTHEST_Z * np.sqrt(share))
        bounds[number] = farthest_score / np.sqrt(share)
        here = points * farthest_score
        density = np.exp(-(((here[:, np.newaxis] - scores) / spread) ** 2) / 2) / (
            spread * np.sqrt(2 * np.pi)
        )
        mass = weights * farthest_score * (density @ mass)
        scores, before = here, share
    return bounds


def _farthest_score(
    error: float,
    scores: npt.NDArray[np.float64],
    mass: npt.NDArray[np.float64],
    spread: float,
    limit: float,
) -> float:
    """The score beyond which a step of standard deviation ``spread`` leads with probability ``error``.

    It starts from ``scores`` with the probabilities ``mass``.
    """

    def too_often(bound: float) -> float:
        beyond = special.ndtr((scores - bound) / spread) + special.ndtr((-bound - scores) / spread)
        return float(mass @ beyond) - error

    low, high = 0.0, limit
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if too_often(middle) >= 0 else (low, middle)
    return high


IntervalOf = Callable[[np.ndarray, float], Interval]


@dataclass(frozen=True)
class Design:
    """``interim`` are the numbers of networks at which a growing sweep is analysed; none: a fixed number."""

    interim: tuple[int, ...] = ()

    def check(self, networks: int) -> None:
        """Raise InputError unless a sweep of ``networks`` networks is one that this design can leave."""
        if self.interim and networks not in self.interim:
            accepted = ", ".join(map(str, self.interim))
            raise InputError(
                "is no number of networks of an interim analysis", value=networks, accepted=accepted
            )

    def interval(self, values: np.ndarray, confidence: float, of: IntervalOf = t_interval) -> Interval:
        """The interval of ``values`` (one for each network) by ``of``, corrected for all analyses so far."""
        if not self.interim:
            return of(values, confidence)
        whole = of(values, self.last_confidence(len(values), confidence))
        if not whole.known:
            # One network without a value: there is no interval, now or earlier.
            return Interval(whole.mean, np.nan, np.nan, whole.networks, confidence)
        levels = zip(self.interim, _levels(self.interim, confidence), strict=True)
        seen = [(values[:count], level) for count, level in levels if count <= len(values)]
        intervals = [of(some, level) for some, level in seen if np.ptp(some) > 0]
        low = max((each.low for each in intervals if each.known), default=whole.low)
        high = min((each.high for each in intervals if each.known), default=whole.high)
        if low > high:
            low, high = whole.low, whole.high
        return Interval(whole.mean, low, high, whole.networks, confidence)

    def last_confidence(self, networks: int, confidence: float) -> float:
        """The confidence of the interval over ``networks`` networks by itself."""
        levels = zip(self.interim, _levels(self.interim, confidence), strict=True) if self.interim else ()
        return next((level for count, level in levels if count >= networks), confidence)


FIXED = Design()


@functools.cache
def _levels(interim: tuple[int, ...], confidence: float) -> tuple[float, ...]:
    return tuple(float(level) for level in interim_confidences(interim, confidence))
