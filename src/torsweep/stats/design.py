"""What interval a sweep allows: of a fixed number of networks, or looked at after each batch of them.

In: one number for each network, in the order in which the networks were added. Out: an
:class:`~torsweep.stats.intervals.Interval` whose confidence holds although a sequential sweep ends when its
data say so.

At each look of a sequential sweep there is an interval, and all of them together cover with the confidence
asked for (:mod:`torsweep.stats.sequential`). Their intersection is therefore an interval of that confidence
too, and it can only shrink: no later look reverses a decision. If the intersection is empty, at least one of
the intervals has missed the value; the last interval is then used. A look at values that were all alike says
nothing of the spread and is passed over, unless it is the last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torsweep.errors import InputError
from torsweep.stats.intervals import Interval, t_interval
from torsweep.stats.sequential import look_confidences

IntervalOf = Callable[[np.ndarray, float], Interval]


@dataclass(frozen=True)
class Design:
    """``looks`` are the numbers of networks at which a sequential sweep looks; none: a fixed number."""

    looks: tuple[int, ...] = ()

    def check(self, networks: int) -> None:
        """Raise InputError unless a sweep of ``networks`` networks is one that this design can leave."""
        if self.looks and networks not in self.looks:
            accepted = ", ".join(map(str, self.looks))
            raise InputError("is no number of networks to look at", value=networks, accepted=accepted)

    def interval(self, values: np.ndarray, confidence: float, of: IntervalOf = t_interval) -> Interval:
        """The interval of ``values`` (one for each network) by ``of``, corrected for all looks so far."""
        if not self.looks:
            return of(values, confidence)
        whole = of(values, self.last_confidence(len(values), confidence))
        if not whole.known:
            # One network without a value: there is no interval, at this look or an earlier one.
            return Interval(whole.mean, np.nan, np.nan, whole.networks, confidence)
        levels = zip(self.looks, _levels(self.looks, confidence), strict=True)
        seen = [(values[:count], level) for count, level in levels if count <= len(values)]
        looks = [of(some, level) for some, level in seen if np.ptp(some) > 0]
        low = max((look.low for look in looks if look.known), default=whole.low)
        high = min((look.high for look in looks if look.known), default=whole.high)
        if low > high:
            low, high = whole.low, whole.high
        return Interval(whole.mean, low, high, whole.networks, confidence)

    def last_confidence(self, networks: int, confidence: float) -> float:
        """The confidence of the interval over ``networks`` networks by itself."""
        levels = zip(self.looks, _levels(self.looks, confidence), strict=True) if self.looks else ()
        return next((level for count, level in levels if count >= networks), confidence)


FIXED = Design()


@functools.cache
def _levels(looks: tuple[int, ...], confidence: float) -> tuple[float, ...]:
    return tuple(float(level) for level in look_confidences(looks, confidence))
