"""Confidence at each look when networks are added in batches until the claims are decided.

In: the numbers of networks at which the data are looked at, the most of them last, and the confidence that
all looks are to share. Out: the confidence of the t-interval at each look, which is higher than that of an
interval that is looked at once.

The t-intervals at all looks cover the mean *together* with the shared confidence (repeated confidence
intervals: Jennison and Turnbull, Journal of the Royal Statistical Society B 51, 1989, 305–361), so that a
sweep may end at any look, for whatever reason, and what one look decided stays decided. The error is spent
by a function of the share of networks that there are (Lan and DeMets, Biometrika 70, 1983, 659–663), here
the one that they take after O'Brien and Fleming: hardly anything at the first looks, where few networks
with a skewed value cover least, and the last intervals are nearly as narrow as that of a sweep of a fixed
size. The bounds follow from the recursive integration of Armitage, McPherson and Rowe (Journal of the Royal
Statistical Society A 132, 1969, 235–244) for known variance; a bound's p-value is then taken to the
t-distribution of the look (the significance level approach of Pocock, Biometrika 64, 1977, 191–199).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

NODES = 256
"""Points of the Gauss–Legendre rule between the bounds of a look; 128 give the same six digits."""

FARTHEST_Z = 12.0
"""No bound is farther out: beyond it lies less than 1e-32 of a normal distribution."""

Spending = Callable[[float, float], float]
"""(share of the networks from 0 to 1, error of all looks) → error spent by then."""


def obrien_fleming_spending(share: float, error: float) -> float:
    """Twice what each of two one-sided tests of half the error spends: 4 (1 − Φ(z(1 − error/4) / √share))."""
    return float(4 * stats.norm.sf(stats.norm.isf(error / 4) / np.sqrt(share)))


def look_confidences(
    networks: Sequence[int], confidence: float, spending: Spending = obrien_fleming_spending
) -> npt.NDArray[np.float64]:
    """Two-sided confidence of the t-interval at each look, for looks at ``networks``, which rise.

    The last entry is the most networks there may be. With one look it is ``confidence`` itself.
    """
    shares = np.asarray(networks, dtype=float) / networks[-1]
    spent = np.array([spending(share, 1 - confidence) for share in shares])
    return 2 * stats.norm.cdf(normal_bounds(shares, np.diff(spent, prepend=0.0))) - 1


def normal_bounds(
    shares: npt.NDArray[np.float64], crossing: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Bounds c of |Z| at each look, first crossed there with the probabilities ``crossing``.

    ``shares`` are the parts of the information that the looks have, rising to 1. The score at a look is a
    Brownian motion at the time ``share``; Z is the score over √share.
    """
    bounds = np.empty(len(shares))
    points, weights = np.polynomial.legendre.leggauss(NODES)
    # Before the first look, all probability is at a score of 0.
    scores, mass, before = np.zeros(1), np.ones(1), 0.0
    for look, (share, error) in enumerate(zip(shares, crossing, strict=True)):
        spread = np.sqrt(share - before)
        farthest_score = _farthest_score(error, scores, mass, spread, FARTHEST_Z * np.sqrt(share))
        bounds[look] = farthest_score / np.sqrt(share)
        here = points * farthest_score
        density = stats.norm.pdf((here[:, np.newaxis] - scores) / spread) / spread
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

    return limit if too_often(limit) >= 0 else float(optimize.brentq(too_often, 0.0, limit, xtol=1e-12))
