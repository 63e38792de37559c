"""Tests of claims about the times of downloads at levels of a knob.

Each compares a statistic of runs within each network, as a relative difference with a t-interval over
networks. A claim that names several statistics or clocks is judged by each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field

from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin, numbers_by_level
from torsweep.config.traffic import PERF_KINDS
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
    within_factor,
)
from torsweep.stats.inference.intervals import CONFIDENCE
from torsweep.stats.statistic import Analysis, Levels, MetricName
from torsweep.stats.streams.differences import networks_at, paired, paired_changes
from torsweep.stats.streams.incidence import OPENING, Metric, clock_text, measured_downloads, metric_at
from torsweep.stats.streams.medians import ESTIMANDS, PAIRED, quantiles_of_runs
from torsweep.stats.streams.perf import perf_analysis

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


def networks_of(
    knob: str, analysis: Analysis, runs: pl.DataFrame, levels: Levels, between: tuple[str, str]
) -> pl.Series:
    """The seeds of the networks on which the levels ``between`` of ``knob`` are compared, in order; of two
    imports those that they have in common."""
    if knob == IMPORT:
        one, other = (set(analysis.provenance.seeds_at({**levels, IMPORT: name})) for name in between)
        return pl.Series(sorted(one & other), dtype=pl.Int64)
    return networks_at(runs, {name: level for name, level in levels.items() if name != knob})


def changes(
    streams: pl.DataFrame | None,
    runs: pl.DataFrame,
    metric: Metric,
    statistic: Estimand,
    sides: Sequence[Levels],
    networks: pl.Series,
) -> TimesBetween:
    """How ``statistic`` changes from one of ``sides`` to the other: of the same downloads in ``streams``,
    else of the quantiles of ``runs``, both of downloads that are judged together."""
    seeds, (one, two) = tuple(networks), sides
    if statistic == PAIRED:
        assert streams is not None
        return TimesBetween(*paired_changes(streams, metric, one, two, seeds), seeds)
    chosen = runs.filter(pl.col("metric") == metric.name)
    pair = paired(chosen, f"{statistic}_s", one, two, networks)
    if not pair.independent:
        return TimesBetween(pair.log_ratio, pair.difference_s, seeds)
    difference_s = np.array([pair.variant_s.mean() - pair.reference_s.mean()])
    return TimesBetween(np.log(pair.variant_s), difference_s, (), np.log(pair.reference_s))


class TimesClaim(ClientClaim):
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
        of_clients = analysis.once(perf_analysis) if self.kind in PERF_KINDS else analysis
        if of_clients is None:
            return np.full(len(analysis.provenance.seeds), np.nan)
        statistic, of_kind = self.statistics[0], pl.col("kind").cast(pl.String) == self.kind
        runs = of_clients.once(quantiles_of_runs)
        networks = networks_of(self.knob, analysis, runs, levels, (reference, other))
        streams = of_clients.once(measured_downloads).filter(of_kind) if statistic == PAIRED else None
        sides = [{**levels, self.knob: level} for level in (reference, other)]
        clock = metric_at(metric, self.clocks[0])
        return changes(streams, runs.filter(of_kind), clock, statistic, sides, networks).logs


class ExtremeLevel(TimesClaim):
    """A claim that a level has the shortest, or the longest, times."""

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


class BestLevel(ExtremeLevel):
    """Every one of ``metrics`` is lower at ``level`` than at each other level."""

    test: Literal["best_level"]

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Is every other level slower?"""
        return self.extreme(analysis, levels, best=True)


class Equivalence(TimesClaim):
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
