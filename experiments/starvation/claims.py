"""Tests of claims about streams of one circuit that starve."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from experiments.starvation.fairness import fairness_of_plan
from torsweep.config.reading import RefusedValue
from torsweep.config.variant import Level
from torsweep.stats.claims import ClientClaim
from torsweep.stats.claims.judging import Question, above, below, place_text
from torsweep.stats.statistic import Analysis, Levels


class Starvation(ClientClaim):
    """At ``level``, all streams of a circuit starve except the ``count`` streams that were opened ``first``
    or ``last`` (``served``), or no stream starves (``all``)."""

    rests_on = "progress"

    test: Literal["starvation"]
    level: Level
    """The level of the knob that the claim is about."""
    served: Literal["first", "last", "all"]
    """Which streams are served: those opened first, those opened last, or all."""
    count: Annotated[int, Field(strict=True, ge=1, le=50)] | None = None
    """How many are served; left out with ``served: all``."""

    @model_validator(mode="after")
    def _counted_unless_all(self) -> Self:
        if (self.count is None) != (self.served == "all"):
            accepted = "nothing where all are served, else how many are"
            raise RefusedValue("does not fit served", key="count", value=self.count, accepted=accepted)
        return self

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """All but ``count`` streams starve, give or take one, and more than half of the first ``count`` to
        complete are those that should be served; or, where all are served, less than one starves."""
        here, place = {**levels, self.knob: self.level}, f"{self.level}{place_text(self, levels)}"
        fairness = analysis.once(fairness_of_plan)
        starved, streams = fairness.starved(self.kind, here)
        if self.count is None:
            return [_starved(starved, place, some=False)]
        served = fairness.served_share(self.kind, here, self.served, self.count)
        return [
            Question(
                f"starved streams less (all − {self.count}), {place}",
                starved - (streams - self.count),
                "within ±1",
                lambda i: i.low >= -1 and i.high <= 1,
                lambda i: i.low > 1 or i.high < -1,
                counted=True,
            ),
            Question(
                f"share opened {self.served} among the first {self.count} to complete, {place}",
                served,
                "> 0.5",
                above(0.5),
                below(0.5),
                counted=True,
            ),
        ]


class StarvationThreshold(ClientClaim):
    """Streams starve up to the level ``starved_up_to``, and none does from ``none_from`` on, in order."""

    rests_on = "progress"

    test: Literal["starvation_threshold"]
    starved_up_to: Level
    """The last level of the knob at which streams starve."""
    none_from: Level
    """The first level at which none does."""

    def own_levels(self) -> list[str]:
        """Both ends of the threshold."""
        return [self.starved_up_to, self.none_from]

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """At each level up to the first bound a stream starves; from the second on, less than one."""
        order = list(analysis.levels[self.knob])
        last, first = order.index(self.starved_up_to), order.index(self.none_from)
        questions = []
        for position, level in enumerate(order):
            if position <= last or position >= first:
                here = {**levels, self.knob: level}
                starved, _ = analysis.once(fairness_of_plan).starved(self.kind, here)
                place = f"{level}{place_text(self, levels)}"
                questions.append(_starved(starved, place, some=position <= last))
        return questions


def _starved(values: np.ndarray, place: str, some: bool) -> Question:
    """Whether at least one stream starves, or less than one."""
    one_or_more, less = (lambda i: i.low >= 1), below(1)
    required, shown, opposite = ("≥ 1", one_or_more, less) if some else ("< 1", less, one_or_more)
    contrary = "no stream starves" if some else "a stream starves, or more"
    name = f"starved, {place}"
    return Question(name, values, required, shown, opposite, counted=True, contrary=contrary)
