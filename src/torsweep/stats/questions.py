"""The comparisons that a verdict rests on.

In: one number for each network, the range it should lie in, what would be the opposite, and what would be
nothing. Out: a :class:`Comparison` with intervals over networks.

Times are compared as logarithms of their ratio, network by network: a network where the variant takes twice
as long weighs as much as one where it takes half, and the mean of differences is the same whichever of the
two is called the reference (a mean of ratios is above 1 in both directions when networks vary). Intervals are
worked out on the logarithms and given as relative differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torsweep.stats.design import FIXED, Design, IntervalOf
from torsweep.stats.intervals import CONFIDENCE, Interval, exponential, median_interval, t_interval
from torsweep.stats.planning import networks_to_halve, networks_to_show

YES, NO, NOTHING, UNCLEAR = "yes", "no", "no difference", "unclear"

Reading = Callable[[Interval], bool]


@dataclass(frozen=True)
class Comparison:
    """One number a claim rests on, with its interval over networks and what it shows.

    ``required`` is the range it should lie in, as text; ``interval`` is the one ``shows`` was read from
    (90 % for an equivalence, else 95 %), ``simultaneous`` covers all comparisons of the claim. ``shows`` is
    ``yes``, ``no`` (the opposite), ``no difference`` (none as large as the margin) or ``unclear``. Of an
    unclear one, ``networks_for`` says about how many networks would make it each of these, where an answer
    that the values do not point to is left out, and ``halved_by`` how many would halve ``interval``; None
    where there is none, or no number would.
    """

    statement: str
    interval: Interval
    simultaneous: Interval
    required: str
    shows: str
    networks_for: dict[str, int]
    halved_by: int | None = None


@dataclass(frozen=True)
class Question:
    """A comparison before its interval: ``shown``, ``opposite`` and ``nothing`` read an interval.

    ``values`` holds one number for each network, in the order in which networks were added; where they are
    ``logarithms``, the readings are of what they are logarithms of, less 1. ``counted``: they are counts or
    shares, of which the median over networks counts. ``required`` says in words what ``shown`` asks for.
    """

    statement: str
    values: np.ndarray
    required: str
    shown: Reading
    opposite: Reading
    nothing: Reading | None = None
    confidence: float = CONFIDENCE
    logarithms: bool = False
    counted: bool = False

    def answer(self, together: float, design: Design = FIXED) -> Comparison:
        """The comparison, whose simultaneous interval has the confidence ``together``."""
        of: IntervalOf = median_interval if self.counted else t_interval
        each = self._relative(design.interval(self.values, self.confidence, of))
        simultaneous = self._relative(design.interval(self.values, together, of))
        shows = UNCLEAR
        if each.known and self.shown(each):
            shows = YES
        elif simultaneous.known and self.opposite(simultaneous):
            shows = NO
        elif simultaneous.known and self.nothing and self.nothing(simultaneous):
            shows = NOTHING
        said = (self.statement, each, simultaneous, self.required, shows)
        if shows != UNCLEAR or len(self.values) < 2 or not np.isfinite(self.values).all():
            return Comparison(*said, {})
        halved = networks_to_halve(self.values, self.counted, self.confidence) if each.known else None
        return Comparison(*said, self._networks_for(together), halved)

    def _networks_for(self, together: float) -> dict[str, int]:
        readings = (
            (YES, self.shown, self.confidence),
            (NO, self.opposite, together),
            (NOTHING, self.nothing, together),
        )
        found: dict[str, int] = {}
        for name, reading, confidence in readings:
            if reading is not None:
                relative = _of_relative(reading) if self.logarithms else reading
                needed = networks_to_show(self.values, self.counted, confidence, relative)
                found |= {} if needed is None else {name: needed}
        return found

    def _relative(self, interval: Interval) -> Interval:
        return exponential(interval) if self.logarithms else interval


def _of_relative(reading: Reading) -> Reading:
    return lambda interval: reading(exponential(interval))
