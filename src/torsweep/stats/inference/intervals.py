"""Means over networks with t-intervals, and medians with exact ones.

In: one number for each network. Out: :class:`Interval`, or arrays of them for a curve.

The replicates are independently sampled networks, so the network is the unit: downloads within a network
share relays and are far from independent, and an interval over downloads would be much too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator
from scipy import special

CONFIDENCE = 0.95

FEWEST_FOR_BANDS = 4
"""With fewer networks, figures show each network instead of bands, and nothing is forecast: a t-interval of
two or three is up to ten times as wide as their spread."""

SHORTEST_S = 1e-6
"""The resolution of the tables: a shorter time counts as this long, so that it has a logarithm."""


MaybeNumber = Annotated[float, BeforeValidator(lambda value: np.nan if value is None else value)]
"""A number that may be NaN, which JSON writes as null."""


@dataclass(frozen=True)
class Interval:
    """A mean (or median) over ``networks`` networks and its two-sided interval; NaN bounds: there is none."""

    mean: MaybeNumber
    low: MaybeNumber
    high: MaybeNumber
    networks: int
    confidence: float

    @property
    def known(self) -> bool:
        """Whether there is an interval: two networks or more, all with a value."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def t_interval(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Mean of ``values`` (one a network) ± t · s / √k.

    One network has a mean and no interval. A NaN (a median that a network never reached) leaves neither:
    averaging the networks that reached it would flatter the variant. Values that are all the same have no
    spread to go by: theirs is the exact interval of :func:`median_interval`, or none.
    """
    array = np.asarray(values, dtype=float)
    if len(array) == 0:
        return Interval(np.nan, np.nan, np.nan, 0, confidence)
    if len(array) > 1 and np.ptp(array) == 0:
        return median_interval(array, confidence)
    mean = float(array.mean())
    if len(array) == 1:
        return Interval(mean, np.nan, np.nan, 1, confidence)
    half = float(_half_width(array, confidence))
    return Interval(mean, mean - half, mean + half, len(array), confidence)


def log_interval(times: npt.ArrayLike) -> Interval:
    """Geometric mean of ``times`` (one a network) and the interval of their logarithms, none below 0."""
    logs = t_interval(np.log(np.maximum(np.asarray(times, dtype=float), SHORTEST_S)))
    mean, low, high = (float(np.exp(bound)) for bound in (logs.mean, logs.low, logs.high))
    return replace(logs, mean=mean, low=low, high=high)


def welch_interval(
    groups: Sequence[npt.ArrayLike], weights: npt.ArrayLike, confidence: float = CONFIDENCE
) -> Interval:
    """The means of ``groups`` (numbers, one a network), added up by ``weights``, ± t · standard error;
    ``networks`` are those of all.

    For groups on different networks; −1 and 1 give a difference. A group of one network, or a NaN, leaves no
    interval; nor do values without any spread. Sources: Welch, Biometrika 34 (1947) 28–35; Satterthwaite,
    Biometrics Bulletin 2 (1946) 110–114.
    """
    arrays = [np.asarray(group, dtype=float) for group in groups]
    sizes, by = np.array([len(array) for array in arrays]), np.asarray(weights, dtype=float)
    nothing = Interval(np.nan, np.nan, np.nan, int(sizes.sum()), confidence)
    if not sizes.all():
        return nothing
    mean = float(by @ [array.mean() for array in arrays])
    if sizes.min() < 2:
        return replace(nothing, mean=mean)
    errors = by**2 * [array.var(ddof=1) / len(array) for array in arrays]
    if not errors.sum() > 0:
        return replace(nothing, mean=mean)
    freedom = errors.sum() ** 2 / np.sum(errors**2 / (sizes - 1))
    half = float(special.stdtrit(freedom, 0.5 + confidence / 2) * np.sqrt(errors.sum()))
    return replace(nothing, mean=mean, low=mean - half, high=mean + half)


def exponential(interval: Interval) -> Interval:
    """An interval of logarithms of ratios as one of relative differences: 0.1 is 10 % more."""
    mean, low, high = (float(np.expm1(bound)) for bound in (interval.mean, interval.low, interval.high))
    return replace(interval, mean=mean, low=low, high=high)


def median_interval(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Median of ``values`` (one a network) between two of them, for counts and shares.

    A few networks that all have the same count have no spread, and a t-interval of no width would claim to
    know the networks that were not drawn. The k-th value from below and from above enclose the median of
    all networks unless fewer than k of n fall on one side of it, whatever the distribution: a binomial
    probability. Six networks are the fewest that give an interval at 95 %. A NaN leaves nothing.
    """
    array = np.sort(np.asarray(values, dtype=float))
    networks = len(array)
    if networks == 0 or not np.isfinite(array).all():
        return Interval(np.nan, np.nan, np.nan, networks, confidence)
    if networks < fewest_for_median(confidence):
        return Interval(float(np.median(array)), np.nan, np.nan, networks, confidence)
    # The most networks that fall on one side of the median with no more than half the error.
    error = (1 - confidence) / 2
    tails = special.bdtr(np.arange(networks // 2 + 1), networks, 0.5)
    inside = int(np.searchsorted(tails, error, side="right")) - 1
    low, high = array[inside], array[networks - 1 - inside]
    return Interval(float(np.median(array)), float(low), float(high), networks, confidence)


def share_interval(
    reference: npt.ArrayLike,
    variant: npt.ArrayLike,
    confidence: float,
    of_differences: Callable[[npt.NDArray[np.float64], float], Interval] | None = None,
) -> Interval:
    """Variant less reference, of shares of what is counted: each side has for each network how many of how
    many, shape (networks, 2); the mean of the differences within networks, or of independent sides the
    difference of their means.

    The interval holds both that over networks (``of_differences`` of the differences; without, Welch's) and
    what Clopper and Pearson's exact intervals (Biometrika 26, 1934, 404–413) of all that is counted leave of
    the difference, put together by squares as Newcombe does (Statistics in Medicine 17, 1998, 873–890). Where
    no network has any, the first has no width and the second says how many there may be; where shares differ
    between networks more than counts do by chance, the first is the wider one. One network has no interval,
    and a NaN leaves nothing.
    """
    sides = [np.asarray(side, dtype=float) for side in (reference, variant)]
    networks = len(sides[0]) if of_differences else sum(map(len, sides))
    nothing = Interval(np.nan, np.nan, np.nan, networks, confidence)
    if not all(len(side) and np.isfinite(side).all() and side[:, 1].all() for side in sides):
        return nothing
    shares = [side[:, 0] / side[:, 1] for side in sides]
    mean = float(shares[1].mean() - shares[0].mean())
    if min(map(len, shares)) < 2:
        return replace(nothing, mean=mean)
    if of_differences is None:
        over = welch_interval(shares, (-1, 1), confidence)
    else:
        over = of_differences(shares[1] - shares[0], confidence)
    ((one, low_one, high_one), (two, low_two, high_two)) = (
        _exact_share(side, 1 - confidence) for side in sides
    )
    low = mean - float(np.hypot(two - low_two, high_one - one))
    high = mean + float(np.hypot(high_two - two, one - low_one))
    if over.known:
        low, high = min(low, over.low), max(high, over.high)
    return replace(nothing, mean=mean, low=low, high=high)


def _exact_share(counts: npt.NDArray[np.float64], error: float) -> tuple[float, float, float]:
    """The share of all that is counted, and Clopper and Pearson's bounds of it."""
    hits, of = counts.sum(axis=0)
    low = special.betaincinv(hits, of - hits + 1, error / 2) if hits else 0.0
    high = special.betaincinv(hits + 1, of - hits, 1 - error / 2) if hits < of else 1.0
    return float(hits / of), float(low), float(high)


def farthest_outlier(values: npt.ArrayLike, error: float) -> int | None:
    """The position of the value that lies too far from the others for a sample of one normal distribution,
    by Grubbs' test (Technometrics 11, 1969, 1–21); None where none does, or there are fewer than four."""
    array = np.asarray(values, dtype=float)
    if len(array) < FEWEST_FOR_BANDS or not np.isfinite(array).all() or np.ptp(array) == 0:
        return None
    away = np.abs(array - array.mean()) / array.std(ddof=1)
    many, farthest = len(array), int(away.argmax())
    square = float(special.stdtrit(many - 2, 1 - error / (2 * many))) ** 2
    bound = (many - 1) / np.sqrt(many) * np.sqrt(square / (many - 2 + square))
    return farthest if away[farthest] > bound else None


def fewest_for_median(confidence: float) -> int:
    """The fewest networks for which :func:`median_interval` gives bounds: 6 at 95 %."""
    return int(np.ceil(np.log2(2 / (1 - confidence)) - 1e-9))


def bands(values: npt.NDArray[np.float64], confidence: float = CONFIDENCE) -> tuple[npt.NDArray, ...]:
    """Mean, lower and upper bound of each column of ``values``, shape (networks, points).

    The bounds are pointwise. tornettools draws the same interval over runs at each of 1,000 quantiles: on
    the same values of 2, 3, 8 and 30 runs the two agree to 1e-15. It widens it by the resolution of binned
    data; these times are exact to a microsecond, so that term is left out. Its quantile of a run is the
    same download as here or the one before. With two or three networks the bounds are the lowest and the
    highest; with one they are NaN.
    """
    networks = len(values)
    mean = values.mean(axis=0)
    if networks < 2:
        nothing = np.full_like(mean, np.nan)
        return mean, nothing, nothing
    if networks < FEWEST_FOR_BANDS:
        return mean, values.min(axis=0), values.max(axis=0)
    half = _half_width(values, confidence)
    return mean, mean - half, mean + half


def _half_width(values: npt.NDArray[np.float64], confidence: float) -> Any:
    """t · s / √k of the networks along the first axis."""
    quantile = special.stdtrit(len(values) - 1, 0.5 + confidence / 2)
    return quantile * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def change_intervals(changes: npt.ArrayLike, comparisons: int) -> tuple[Interval, Interval]:
    """Mean of ``changes`` (one a network) and its interval, and the one that covers with all ``comparisons``.
    Of two or three networks the bounds are the lowest and the highest change, and nothing covers together."""
    array = np.asarray(changes, dtype=float)
    each, together = (t_interval(array, level) for level in (CONFIDENCE, bonferroni(CONFIDENCE, comparisons)))
    if len(array) >= FEWEST_FOR_BANDS or not each.known:
        return each, together
    extremes = replace(each, low=float(array.min()), high=float(array.max()))
    return extremes, replace(together, low=np.nan, high=np.nan)


def bonferroni(confidence: float, comparisons: int) -> float:
    """Confidence of each of ``comparisons`` intervals that together cover with ``confidence``."""
    return 1 - (1 - confidence) / max(comparisons, 1)
