"""The tests of claims that a level is worst, that shorter intervals improve nothing, and that a time has a
stair-step in its distribution; and the steps that were measured.

In: quantiles of runs; depths (:mod:`experiments.refill_sweep.stairs`). Out: questions, and stairs.csv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, StrictBool

from experiments.refill_sweep.stairs import PRONOUNCED_DEPTH, Stairs, stair_table
from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin
from torsweep.config.traffic import ClientKind
from torsweep.config.variant import Level
from torsweep.stats.claims import ClientClaim
from torsweep.stats.claims.downloads import ClockStarts, ExtremeLevel, TimesClaim
from torsweep.stats.claims.judging import (
    Question,
    above,
    below,
    faster,
    other_levels,
    place_text,
    verdicts,
    within,
)
from torsweep.stats.inference.intervals import CONFIDENCE
from torsweep.stats.statistic import (
    KIND_COLUMN,
    KNOB_COLUMNS,
    METRIC_COLUMN,
    SEED_COLUMN,
    Analysis,
    Levels,
    MetricName,
    Statistic,
    numbers,
    texts,
)
from torsweep.stats.streams.incidence import OPENING, clock_text, metric_at, unless_perf_alone
from torsweep.units import is_duration

PRONOUNCED: Final = "pronounced"
PRESENT: Final = "present"


class WorstLevel(ExtremeLevel):
    """Every one of ``metrics`` is higher at ``level`` than at each other level."""

    test: Literal["worst_level"]

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Is every other level faster?"""
        return self.extreme(analysis, levels, best=False)


class NoImprovement(TimesClaim):
    """No level of the list has a ``metric`` shorter by more than ``margin`` than that of one before it."""

    test: Literal["no_improvement"]
    levels: Annotated[tuple[Level, ...], Field(min_length=2)]
    """Levels of the knob, in the order in which the claim says that nothing improves."""
    metric: MetricName
    """Time to the first byte (``ttfb``) or to the last (``ttlb``)."""
    margin: Margin
    """The largest improvement that counts as none: 0.05 is a time divided by 1.05."""

    def own_levels(self) -> Sequence[str]:
        """All of the list."""
        return self.levels

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each level against each one before it: non-inferiority, one-sided at 5 % (the lower end of the 90 %
        interval). Shown: it is not shorter by more than the margin. The opposite: it is."""
        edge = faster(self.margin)
        return [
            Question(
                f"{self.kind} {self.metric}: {later} against {earlier}{place_text(self, levels)}",
                self.log_ratio(analysis, self.metric, levels, earlier, later),
                f"> {edge:.3f}",
                above(edge),
                below(edge),
                confidence=1 - 2 * (1 - CONFIDENCE),
                logarithms=True,
                contrary=f"{later} is faster by more than the margin",
            )
            for earlier, later in combinations(self.levels, 2)
        ]


class StairStep(ClientClaim):
    """The distribution of ``metric`` rises in stairs as wide as the interval at ``level``, and (unless
    ``only`` is false) no other level has stairs of its own or of that width."""

    test: Literal["stair_step"]
    kind: ClientKind
    """Whose downloads."""
    level: Level
    """The level of the knob, a duration, at which there are stairs."""
    metric: MetricName
    """Time to the first byte (``ttfb``) or to the last (``ttlb``)."""
    only: StrictBool = True
    """Whether there are none at the other levels."""
    clocks: ClockStarts = (OPENING,)
    """By which clocks it is judged, each for itself."""
    grades: Annotated[tuple[Literal["present", "pronounced"], ...], Field(min_length=1)] = (PRONOUNCED,)
    """How deep stairs have to be, each judged for itself: deeper than in a smooth distribution of the same
    runs (``present``), or so deep that risers are three times as steep as treads (``pronounced``)."""
    margin: Margin | None = None
    """A smaller difference in depth counts as none; that of ``precision`` where it is left out."""

    def aspects(self) -> Iterator[tuple[str, Self]]:
        """A question for each clock and grade."""
        for clock, grade in product(self.clocks, self.grades):
            words = [clock_text(clock)] if self.clocks != (OPENING,) else []
            words += [grade] if self.grades != (PRONOUNCED,) else []
            yield ", ".join(words), self.model_copy(update={"clocks": (clock,), "grades": (grade,)})

    def check(self, experiment: Any) -> None:
        """A stair needs a width."""
        super().check(experiment)
        for level in experiment.plan().knobs.get(self.knob, ()):
            if not is_duration(level):
                raise RefusedValue(
                    "a stair is as wide as the level of its knob, which is no duration",
                    key="knob",
                    value=f"{self.knob}={level}",
                    accepted="a knob whose levels are durations, such as refill_interval",
                )

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """The depth of the claimed level at its own period; that it is deeper than each other level's at the
        same period, paired by network (no difference: within ± the margin, in units of depth); and with
        ``only`` the depth of every other level, at its own period and at the claimed one.

        Pronounced: above the edge; none: below it. Present: above that of a smooth distribution; none: less
        than the margin above it."""
        level, place = self.level, place_text(self, levels)
        margin = analysis.margin if self.margin is None else self.margin
        metric = metric_at(self.metric, self.clocks[0]).name

        def steps(of_level: str, period: str) -> list[Stairs]:
            variant = {**levels, self.knob: of_level}
            return analysis.once(stair_table).steps(self.kind, metric, variant, period)

        def question(of_level: str, period: str, there: bool) -> Question:
            name = f"depth at {of_level}{'' if there else f', period {period}'}{place}"
            return _depth(name, steps(of_level, period), self.grades[0], margin, there)

        questions = [question(level, level, there=True)]
        claimed = np.array([step.depth for step in steps(level, level)])
        shallower = f"the stairs at {level} are shallower"
        for other in other_levels(self, analysis, level):
            if self.only:
                questions += [question(other, period, there=False) for period in (other, level)]
            deeper = claimed - np.array([step.depth for step in steps(other, level)])
            name = f"depth at {level} less that at {other}, period {level}{place}"
            same = within(margin)
            questions.append(Question(name, deeper, "> 0", above(0), below(0), same, contrary=shallower))
        return questions


def _depth(name: str, steps: Sequence[Stairs], grade: str, margin: float, there: bool) -> Question:
    """Whether stairs of ``grade`` are ``there``, or are not."""
    depths = np.array([step.depth for step in steps])
    least = most = PRONOUNCED_DEPTH
    if grade == PRESENT:
        depths = depths - np.array([step.smooth_mean for step in steps])
        name, least, most = f"{name}, above a smooth one's", 0.0, margin
    if there:
        contrary = f"a depth below {most:.3f}, no stairs"
        return Question(name, depths, f"> {least:.3f}", above(least), below(most), contrary=contrary)
    contrary = f"a depth above {most:.3f}, stairs too"
    return Question(name, depths, f"< {most:.3f}", below(most), above(most), contrary=contrary)


def _measured_steps(analysis: Analysis) -> list[dict[str, object]] | None:
    # The claims decide which steps are measured.
    analysis.once(verdicts)
    whole = [part for part in analysis.parts.values() if part.provenance.seeds]
    return [row for part in whole for row in part.once(stair_table).rows()] or None


STAIRS = Statistic(
    "stairs",
    "a stair-step that a claim asks for, in one network",
    METRIC_COLUMN
    | KIND_COLUMN
    | KNOB_COLUMNS
    | texts("the refill interval that is the width of a stair", "period")
    | SEED_COLUMN
    | numbers("depth; null: too few", "depth")
    | numbers("mean and 97.5th percentile of smooth distributions' depths", "smooth_mean", "smooth_null")
    | {"above_smooth": (pl.Boolean, "whether the depth is beyond that")},
    unless_perf_alone(_measured_steps),
)
