"""Intervals of a comparison that is looked at while networks are added.

In: one number for each network, in the order in which the networks were added, and the numbers of networks at
which somebody has looked at a verdict (``looks.json``, beside a study or summary). Out: an
:class:`~torsweep.stats.inference.intervals.Interval` whose confidence holds although somebody looked, and
could have stopped, earlier.

The t-intervals of all looks cover the mean *together* with the stated confidence (repeated confidence
intervals: Jennison and Turnbull, Journal of the Royal Statistical Society B 51, 1989, 305–361), so that a
comparison may end at any of them, for whatever reason. Their intersection is therefore an interval of that
confidence too, and it can only shrink: no later look reverses a decision. If the intersection is empty, at
least one of the intervals has missed the value; the last interval is then used. A look at values that were
all alike says nothing of the spread and is passed over, unless it is the last.

The error is spent bit by bit (Lan and DeMets, Biometrika 70, 1983, 659–663). A user who adds networks states
neither the looks nor the most networks beforehand. The first look spends :data:`FIRST_SHARE` of the error, so
that who never grows the comparison pays little (5 % of the interval's width with 8 networks), and the look at
n networks has spent all but the part (1 − FIRST_SHARE) · first / n, however many more will come.

The bounds follow from the recursive integration of Armitage, McPherson and Rowe (Journal of the Royal
Statistical Society A 132, 1969, 235–244) for known variance; a bound's p-value is then taken to the
t-distribution of the analysis (the significance level approach of Pocock, Biometrika 64, 1977, 191–199).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import special

from torsweep.config.experiment import Experiment
from torsweep.config.reading import validate
from torsweep.config.replicates import Precision
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.stats.inference.intervals import Interval, t_interval
from torsweep.storage import write_text

NODES = 256
"""Points of the Gauss–Legendre rule between the bounds of a look; 128 give the same six digits."""

FARTHEST_Z = 12.0
"""No bound is farther out: beyond it lies less than 1e-32 of a normal distribution."""

FIRST_SHARE = 0.8
"""The share of the error that the first look of a comparison spends that may be looked at again."""


def grown_share(first: int, networks: int) -> float:
    """The share of the error spent by a look at ``networks``, where the first was at ``first``."""
    return 1 - (1 - FIRST_SHARE) * first / networks


def confidences(
    networks: Sequence[int], spent: Sequence[float], confidence: float
) -> npt.NDArray[np.float64]:
    """Two-sided confidence of the t-interval at each look, at ``networks``, which rise; ``spent`` are the
    shares of the error spent by each."""
    shares = np.asarray(networks, dtype=float) / networks[-1]
    error = np.asarray(spent) * (1 - confidence)
    return 2 * special.ndtr(normal_bounds(shares, np.diff(error, prepend=0.0))) - 1


def normal_bounds(
    shares: npt.NDArray[np.float64], crossing: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Bounds c of |Z| at each look, first crossed there with the probabilities ``crossing``. ``shares`` are
    the parts of the information that each has, rising to 1. The score at a look is a Brownian motion at the
    time ``share``; Z is the score over √share."""
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
    """The score beyond which a step of standard deviation ``spread`` leads with probability ``error``, from
    ``scores`` with the probabilities ``mass``."""

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
    """``interim`` are the numbers of networks at which a comparison is looked at, ``spent`` the shares of the
    error spent by each; none: a fixed number."""

    interim: tuple[int, ...] = ()
    spent: tuple[float, ...] = ()

    @classmethod
    def of(cls, experiment: Experiment) -> Design:
        """The design of ``experiment``: its earlier looks, and one at its networks."""
        return cls.after(experiment.precision.looks, len(experiment.seeds))

    @classmethod
    def after(cls, looks: Mapping[int, float], networks: int) -> Design:
        """The design with one more look, at ``networks``; the fixed design where there has been no look."""
        design = cls(tuple(looks), tuple(looks.values()))
        return design.look(networks) if looks else design

    @property
    def shares(self) -> dict[int, float]:
        """The share of the error spent by each look."""
        return dict(zip(self.interim, self.spent, strict=True))

    def look(self, networks: int) -> Design:
        """The design with one more look, which nobody planned, at ``networks``; unchanged where that look, or
        one with more networks, has been."""
        if self.interim and networks <= self.interim[-1]:
            return self
        first = self.interim[0] if self.interim else networks
        share = max(grown_share(first, networks), *self.spent, 0.0)
        return Design((*self.interim, networks), (*self.spent, share))

    def interval(self, values: np.ndarray, confidence: float, of: IntervalOf = t_interval) -> Interval:
        """The interval of ``values`` (one for each network) by ``of``, corrected for all looks so far."""
        if not self.interim:
            return of(values, confidence)
        if not np.isfinite(values).all():
            # One network without a value: there is no interval, now or earlier.
            return replace(of(values, confidence), low=np.nan, high=np.nan)
        levels = zip(self.interim, _levels(self.interim, self.spent, confidence), strict=True)
        # A look that spends nothing has a level of 1.
        seen = [(values[:count], level) for count, level in levels if count <= len(values) and level < 1]
        whole = of(values, self.confidence_at(len(values), confidence))
        if all(len(some) < len(values) for some, _ in seen):
            whole = replace(whole, low=np.nan, high=np.nan)
        intervals = [of(some, level) for some, level in seen if np.ptp(some) > 0]
        low = max((each.low for each in intervals if each.known), default=whole.low)
        high = min((each.high for each in intervals if each.known), default=whole.high)
        if low > high:
            low, high = whole.low, whole.high
        return Interval(whole.mean, low, high, whole.networks, confidence)

    def confidence_at(self, networks: int, confidence: float) -> float:
        """The confidence of the interval over ``networks`` networks by itself."""
        if not self.interim:
            return confidence
        levels = zip(self.interim, _levels(self.interim, self.spent, confidence), strict=True)
        return next((min(level, _MOST_LEVEL) for count, level in levels if count >= networks), confidence)


FIXED = Design()

_MOST_LEVEL = 1 - 1e-12
"""The level of a look that spends no error, where a number is needed."""


@functools.cache
def _levels(interim: tuple[int, ...], spent: tuple[float, ...], confidence: float) -> tuple[float, ...]:
    return tuple(float(level) for level in confidences(interim, spent, confidence))


LOOKS_FILE = "looks.json"


def read_looks(beside: Path) -> dict[int, float]:
    """The share of the error spent by each look, from the record ``beside`` this file; empty before any."""
    file = beside.with_name(LOOKS_FILE)
    if not file.is_file():
        return {}
    return dict(validate(Precision, {"looks": read_json(file)}, file).looks)


def with_look(looks: dict[int, float], networks: int) -> dict[int, float]:
    """``looks`` and one with so many networks; InputError where more have been looked at."""
    if looks and networks not in looks and networks < max(looks):
        problem, accepted = "is fewer than this comparison has been looked at with", f"{max(looks)} or more"
        raise InputError(problem, key="--networks", value=networks, accepted=accepted)
    return Design(tuple(looks), tuple(looks.values())).look(networks).shares


def record_look(beside: Path, design: Design, networks: int) -> None:
    """Keep that the verdicts with so many networks have been shown, in the record ``beside`` this file."""
    looks = {number: share for number, share in design.look(networks).shares.items() if number <= networks}
    write_text(beside.with_name(LOOKS_FILE), json.dumps(looks) + "\n")
