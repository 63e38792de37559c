"""Tests of claims about the times of downloads: levels against each other, and stair-steps in a distribution.

Each compares a statistic of runs within each network, as a relative difference with a t-interval over
networks; the stair-step compares depths (:mod:`torsweep.stats.streams.stairs`). A claim that names several
statistics or clocks is judged by each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, StrictBool

from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin, numbers_by_level
from torsweep.config.traffic import PERF_KINDS, ClientKind
from torsweep.config.variant import Level
from torsweep.runsets.plan_tables import IMPORT
from torsweep.stats.claims import ClientClaim, ClockStart, Estimand
from torsweep.stats.claims.judging import (
    Question,
    above,
    below,
    faster,
    other_levels,
    place_text,
    verdicts,
    within,
    within_factor,
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
from torsweep.stats.streams.differences import networks_at, paired, paired_changes
from torsweep.stats.streams.incidence import (
    OPENING,
    Metric,
    clock_text,
    measured_downloads,
    metric_at,
    unless_perf_alone,
)
from torsweep.stats.streams.medians import ESTIMANDS, PAIRED, quantiles_of_runs
from torsweep.stats.streams.perf import perf_analysis
from torsweep.stats.streams.stairs import PRONOUNCED_DEPTH, Stairs, stair_table
from torsweep.units import is_duration

ClockStarts = Annotated[tuple[ClockStart, ...], Field(min_length=1)]


@dataclass(frozen=True)
class TimesBetween:
    """How a time changes between two levels: ``logs`` has for each of ``networks`` the logarithm of second
    over first, and ``differences_s`` second less first, NaN where a side has none. With independent samples,
    ``logs`` are those of the second, ``reference`` those of the first, and there is one difference."""

    logs: np.ndarray
    differences_s: np.ndarray
    networks: tuple[int, ...]
    reference: np.ndarray | None = None


def times_between(
    claim: ClientClaim,
    analysis: Analysis,
    metric: Metric,
    statistic: Estimand,
    levels: Levels,
    between: tuple[str, str],
) -> TimesBetween:
    """How ``statistic`` of the clients of ``claim`` changes ``between`` two levels of its knob."""
    chosen_clients = analysis.once(perf_analysis) if claim.kind in PERF_KINDS else analysis
    if chosen_clients is None:
        seeds = tuple(analysis.provenance.seeds)
        return TimesBetween(np.full(len(seeds), np.nan), np.full(len(seeds), np.nan), seeds)
    of_kind = pl.col("kind").cast(pl.String) == claim.kind
    one, two = ({**levels, claim.knob: level} for level in between)
    runs = chosen_clients.once(quantiles_of_runs)
    if claim.knob == IMPORT:
        networks = shared_networks(analysis, levels, between)
    else:
        networks = networks_at(runs, {knob: level for knob, level in levels.items() if knob != claim.knob})
    seeds = tuple(networks)
    if statistic == PAIRED:
        streams = chosen_clients.once(measured_downloads).filter(of_kind)
        return TimesBetween(*paired_changes(streams, metric, one, two, seeds), seeds)
    chosen = runs.filter(pl.col("metric") == metric.name, of_kind)
    pair = paired(chosen, f"{statistic}_s", one, two, networks)
    if not pair.independent:
        return TimesBetween(pair.log_ratio, pair.difference_s, seeds)
    difference_s = np.array([pair.variant_s.mean() - pair.reference_s.mean()])
    return TimesBetween(np.log(pair.variant_s), difference_s, (), np.log(pair.reference_s))


def shared_networks(analysis: Analysis, levels: Levels, between: tuple[str, str]) -> pl.Series:
    """The seeds of the networks that two imports have in common, in order."""
    sides = [set(analysis.provenance.seeds_at({**levels, IMPORT: name})) for name in between]
    return pl.Series(sorted(sides[0] & sides[1]), dtype=pl.Int64)


class _TimesClaim(ClientClaim):
    """A claim about times at two levels of its knob, on the same networks."""

    statistics: Annotated[tuple[Estimand, ...], Field(min_length=1)] = ("median",)
    """By which statistics of a run's times it is judged, each for itself: the median (``median``) or a high
    quantile (``p90``, ``p95``) over downloads, the median over clients (``client_median``), the ``mean``; or
    by how much longer the same download takes, the mean over the middle half of them (``paired``)."""
    clocks: ClockStarts = (OPENING,)
    """By which clocks it is judged, each for itself: from the ``opening`` or from the ``request``."""

    def aspects(self) -> Iterator[tuple[str, Self]]:
        """A question for each clock and statistic."""
        for clock, statistic in product(self.clocks, self.statistics):
            words = [ESTIMANDS[statistic]] if self.statistics != ("median",) else []
            words += [clock_text(clock)] if self.clocks != (OPENING,) else []
            yield ", ".join(words), self.model_copy(update={"statistics": (statistic,), "clocks": (clock,)})

    def check(self, experiment: Any) -> None:
        """Levels that have numbers of networks of their own are on different networks."""
        super().check(experiment)
        if self.knob in numbers_by_level(experiment.replicates):
            problem = f"compares levels on the same networks, which replicates.{self.knob} does not give"
            raise RefusedValue(problem, key="knob", value=self.knob, accepted="another knob")

    def log_ratio(
        self, analysis: Analysis, metric: str, levels: Levels, reference: str, other: str
    ) -> np.ndarray:
        """Logarithm of the statistic at ``other`` over that at ``reference``, one a network."""
        clock = metric_at(metric, self.clocks[0])
        return times_between(self, analysis, clock, self.statistics[0], levels, (reference, other)).logs


class _ExtremeLevel(_TimesClaim):
    level: Level
    """The level of the knob that is claimed to be best or worst."""
    margin: Margin | None = None
    """A smaller relative difference counts as none; that of ``precision`` where it is left out."""
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1)]
    """Times to the first byte (``ttfb``), to the last (``ttlb``), or both."""

    def extreme(self, analysis: Analysis, levels: Levels, best: bool) -> list[Question]:
        """Each other level against the claimed one. Shown: the interval lies above 0 (below, for the worst).
        The opposite: it lies below (above). No difference: within ± the margin."""
        margin = analysis.margin if self.margin is None else self.margin
        return [
            Question(
                f"{self.kind} {metric}: {other} against {self.level}{place_text(self, levels)}",
                self.log_ratio(analysis, metric, levels, self.level, other),
                "> 0" if best else "< 0",
                above(0) if best else below(0),
                below(0) if best else above(0),
                within_factor(margin),
                logarithms=True,
                contrary=f"{other} is {'faster' if best else 'slower'}",
            )
            for metric in self.metrics
            for other in other_levels(self, analysis, self.level)
        ]


class BestLevel(_ExtremeLevel):
    """Every one of ``metrics`` is lower at ``level`` than at each other level."""

    test: Literal["best_level"]

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Is every other level slower?"""
        return self.extreme(analysis, levels, best=True)


class WorstLevel(_ExtremeLevel):
    """Every one of ``metrics`` is higher at ``level`` than at each other level."""

    test: Literal["worst_level"]

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Is every other level faster?"""
        return self.extreme(analysis, levels, best=False)


class Equivalence(_TimesClaim):
    """No level moves ``metric`` from the baseline's by more than ``margin``."""

    test: Literal["equivalence"]
    metric: MetricName
    """Time to the first byte (``ttfb``) or to the last (``ttlb``)."""
    margin: Margin
    """The largest change that counts as none: 0.05 is a factor of 1.05 either way."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each other level against the baseline's. Shown: two one-sided tests at 5 % (Schuirmann 1987), that
        is, the 90 % interval lies within ± margin. The opposite: the simultaneous interval lies outside."""
        margin, reference = self.margin, analysis.baseline[self.knob]
        return [
            Question(
                f"{self.kind} {self.metric}: {other} against {reference}{place_text(self, levels)}",
                self.log_ratio(analysis, self.metric, levels, reference, other),
                f"within a factor of {1 + margin:g}",
                within_factor(margin),
                lambda i: above(margin)(i) or below(faster(margin))(i),
                confidence=1 - 2 * (1 - CONFIDENCE),
                logarithms=True,
                contrary="differs by more than the margin",
                keeps_margin=True,
            )
            for other in other_levels(self, analysis, reference)
        ]


class NoImprovement(_TimesClaim):
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


PRONOUNCED: Final = "pronounced"
PRESENT: Final = "present"


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
