"""Intervals of a mean over few networks, where the spread over networks is known from earlier studies.

In: one number for each network, and a :class:`Prior`: the standard deviation that two runs of one tor had in
an earlier study, and over how many networks. Out: an :class:`~torsweep.stats.inference.intervals.Interval`.

Three networks say little of their spread, and every study before had nearly the same one. The variance of
those that there are is therefore moderated: (d0·s0² + d·s²) / (d0 + d), with d0 + d degrees of freedom
(Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004, article 3). d0 says how well s0²
stands for the variance of another study: logarithms of variances differ between studies with the variance
:data:`BETWEEN_STUDIES`, and that of the earlier study is itself estimated from a few networks.

s0 is the spread by chance alone. A change that is larger in some networks than in others adds to it, by
:data:`~torsweep.stats.inference.planning.EFFECT_VARIES` of the change, so that each value that the interval
could hold is tested with the spread that networks would have with a change of this size. At 0 this is Smyth's
test, and the interval is wider the larger the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

from torsweep.stats.inference.intervals import Interval, t_interval

BETWEEN_STUDIES = 0.25
"""Variance over studies of the logarithm of their variance: standard deviations differ by a factor of
e^±0.25. Of six A/A comparisons of real tor (docs/tables/estimators.csv), limma's estimate is 0.19."""

EFFECT_VARIES = 0.3
"""Standard deviation of a change over networks, as a part of its mean: that of first bytes in the studies
that stand is 0.24 to 0.36 (docs/decisions/0029-four-measures.md)."""


@dataclass(frozen=True)
class Prior:
    """A standard deviation over networks by chance alone, ``sd``, in the unit of the values, as ``networks``
    networks of an earlier study had it."""

    sd: float
    networks: int

    @property
    def freedom(self) -> float:
        """d0, the degrees of freedom that it is worth: 3.1 for 4 networks, 4.7 for 8."""
        return freedom(self.networks)

    def variance(self, own: float, own_freedom: int) -> float:
        """The moderated variance of values whose own is ``own``."""
        return moderated(own, own_freedom, self.sd**2, self.freedom)


def moderated(own: float, own_freedom: float, prior: float, prior_freedom: float) -> float:
    """(d0·s0² + d·s²) / (d0 + d)."""
    return (prior_freedom * prior + own_freedom * own) / (prior_freedom + own_freedom)


@cache
def freedom(networks: int) -> float:
    """d0 of a variance known from so many ``networks``: trigamma(d0 / 2) = between studies + trigamma(n /
    2)."""
    return 2 * inverse_trigamma(BETWEEN_STUDIES + float(special.polygamma(1, networks / 2)))


def inverse_trigamma(value: float) -> float:
    """x with trigamma(x) = ``value``, above 0, by bisection of its logarithm: trigamma falls."""
    low, high = -20.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if special.polygamma(1, np.exp(middle)) > value else (low, middle)
    return float(np.exp(low))


def moderated_interval(values: npt.ArrayLike, confidence: float, prior: Prior | None) -> Interval:
    """The mean of ``values`` (one a network) and the interval that the module describes; a t-interval without
    a ``prior``, of fewer than two values, and where one is missing.

    A value δ is inside where (mean − δ)² ≤ t² / k · (d0·(s0² + (0.3·δ)²) + d·s²) / (d0 + d): between the
    roots of a quadratic. Where that has none, as k is small and t large, the interval is the t-interval.
    """
    array = np.asarray(values, dtype=float)
    many = len(array)
    plain = t_interval(array, confidence)
    if prior is None or many < 2 or not np.isfinite(array).all():
        return plain
    total = prior.freedom + many - 1
    variance = prior.variance(float(array.var(ddof=1)), many - 1)
    mean, square = float(array.mean()), float(special.stdtrit(total, 0.5 + confidence / 2)) ** 2 / many
    curvature = 1 - square * prior.freedom / total * EFFECT_VARIES**2
    if curvature <= 0:
        return plain
    reach = float(np.sqrt(mean**2 - curvature * (mean**2 - square * variance)))
    return Interval(mean, (mean - reach) / curvature, (mean + reach) / curvature, many, confidence)
