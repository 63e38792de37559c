"""The comparisons that a verdict rests on.

In: one number a network, the range it should lie in, what would be the opposite. Out: a
:class:`Comparison` with intervals over networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torsweep.stats.intervals import CONFIDENCE, Interval, t_interval


@dataclass(frozen=True)
class Comparison:
    """One number a claim rests on, with its interval over networks and what it shows.

    ``required`` is the range it should lie in, as text; ``interval`` is the one ``shows`` was read from
    (90 % for an equivalence, else 95 %), ``simultaneous`` covers all comparisons of the claim.
    """

    statement: str
    interval: Interval
    simultaneous: Interval
    required: str
    shows: str


@dataclass(frozen=True)
class Question:
    """A comparison before its interval: ``shown`` and ``opposite`` read an interval.

    ``values`` holds one number a network; ``required`` says in words what ``shown`` asks for.
    """

    statement: str
    values: np.ndarray
    required: str
    shown: Callable[[Interval], bool]
    opposite: Callable[[Interval], bool]
    confidence: float = CONFIDENCE

    def answer(self, together: float) -> Comparison:
        """The comparison, whose simultaneous interval has the confidence ``together``."""
        each, simultaneous = t_interval(self.values, self.confidence), t_interval(self.values, together)
        shows = "unclear"
        if each.known:
            shows = "yes" if self.shown(each) else "no" if self.opposite(simultaneous) else "unclear"
        return Comparison(self.statement, each, simultaneous, self.required, shows)
