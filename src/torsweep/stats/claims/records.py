"""Tests of claims about streams that starve, traced cells, followed downloads, and measures of runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin
from torsweep.config.tracing import Group, Stage, TracedHost
from torsweep.config.variant import Level
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.breakdown import METRIC_BYTES, waits_of_runs
from torsweep.stats.cell_times import ANY, TOTAL, cell_times
from torsweep.stats.claims import Claim, ClientClaim, Share
from torsweep.stats.claims.judging import (
    Question,
    above,
    below,
    other_levels,
    place_text,
    within,
    within_factor,
)
from torsweep.stats.measures import ALL
from torsweep.stats.measures.summary import MEASURES, numbers_of_runs
from torsweep.stats.statistic import Analysis, Levels, MetricName
from torsweep.stats.streams.differences import networks_at, paired
from torsweep.stats.streams.fairness import fairness_of_plan
from torsweep.units import Between, DurationNs


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


CellTime = Annotated[DurationNs, Between("1 us", "10 s")]
"""A time in a relay."""


class _CellClaim(Claim):
    """A claim about the time that RELAY cells of all clients stay in the relay ``host``, at ``level``."""

    rests_on = "cells"

    level: Level
    """The level of the knob that the claim is about."""
    host: TracedHost
    """The relay, as in network.json; ``tracing`` has to name it."""

    def check(self, experiment: Any) -> None:
        """The relay has to be traced."""
        if experiment.tracing and self.host not in experiment.tracing.hosts:
            accepted = ", ".join(experiment.tracing.hosts)
            raise RefusedValue(
                "is a relay that is not traced", key="host", value=self.host, accepted=accepted
            )

    def place(self, levels: Levels) -> str:
        """Relay and variant, in words."""
        return f"{self.host}, {self.level}{place_text(self, levels)}"

    def values(
        self, analysis: Analysis, levels: Levels, circuits: str, stage: str, column: str
    ) -> np.ndarray:
        """``column`` of the cells of ``circuits``, one a network; NaN where a network had none."""
        runs = analysis.once(cell_times).runs
        section = {"circuits": circuits, "direction": ANY, "command": ANY, "queue": ANY, "stage": stage}
        here = {**levels, self.knob: self.level}
        return _by_network(runs, {**here, "host": self.host, **section}, column, networks_at(runs, here))


class CellMedian(_CellClaim):
    """The median time of RELAY cells in ``host`` is at least ``at_least`` or at most ``at_most``."""

    test: Literal["cell_median"]
    at_least: CellTime | None = None
    """The least that the median is claimed to be; this or ``at_most``."""
    at_most: CellTime | None = None
    """The most that the median is claimed to be."""

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise RefusedValue("needs one of two bounds", key="at_least", accepted="at_least or at_most")
        return self

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Shown: the interval lies on the claimed side of the bound. The opposite: it lies on the other."""
        name, values = (
            f"median in ms, {self.place(levels)}",
            self.values(analysis, levels, "all", TOTAL, "median_ms"),
        )
        if self.at_least is not None:
            least = self.at_least / 1e6
            return [Question(name, values, f"≥ {least:g}", lambda i: i.low >= least, below(least))]
        assert self.at_most is not None, "a claim has one of the two bounds"
        most = self.at_most / 1e6
        return [Question(name, values, f"≤ {most:g}", lambda i: i.high <= most, above(most))]


class QuietSlower(_CellClaim):
    """At ``level``, the median of quiet circuits' cells in ``host`` is longer than that of busy ones'."""

    test: Literal["quiet_slower"]
    margin: Margin | None = None
    """A smaller relative difference counts as none; that of ``precision`` where it is left out."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """The ratio in each network. Shown: above 0; opposite: below; no difference: within the margin."""
        quiet, busy = (
            self.values(analysis, levels, circuits, TOTAL, "median_ms") for circuits in ("quiet", "busy")
        )
        same = analysis.margin if self.margin is None else self.margin
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(quiet / busy)
        return [
            Question(
                f"median of quiet against busy circuits, {self.place(levels)}",
                np.where(np.isfinite(ratio), ratio, np.nan),
                "> 0",
                above(0),
                below(0),
                within_factor(same),
                logarithms=True,
                contrary="quiet circuits are faster",
            )
        ]


class CellStage(_CellClaim):
    """At ``level``, ``stage`` has a share of ``least`` or more in the time that cells spend in ``host``."""

    test: Literal["cell_stage"]
    stage: Stage
    """Reading and encrypting (``relaying``), circuit queue (``waiting``) or output buffer (``writing``)."""
    least: Share
    """The least share of the time."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Shown: above the claimed share. The opposite: below."""
        part, whole = (
            self.values(analysis, levels, "all", stage, "mean_ms") for stage in (self.stage, TOTAL)
        )
        return [_share(f"share of {self.stage}, {self.place(levels)}", part / whole, self.least)]


class LatencyShare(ClientClaim):
    """At ``level``, ``group`` has a share of ``least`` or more in the wait for the byte of ``metric``."""

    rests_on = "breakdown"

    test: Literal["latency_share"]
    level: Level
    """The level of the knob that the claim is about."""
    metric: MetricName
    """The first byte (``ttfb``) or the last (``ttlb``)."""
    group: Group
    """What the byte waits for."""
    least: Share
    """The least share of the time."""

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Shown: above the claimed share. The opposite: below."""
        section = {"kind": self.kind, "byte": METRIC_BYTES[self.metric], "group": self.group}
        runs, here = analysis.once(waits_of_runs), {**levels, self.knob: self.level}
        shares = _by_network(runs, {**here, **section}, "share", networks_at(runs, here))
        what = self.group.replace("_", " ")
        name = f"share of {what} in {self.metric}, {self.level}{place_text(self, levels)}"
        return [_share(name, shares, self.least)]


def _share(name: str, values: np.ndarray, least: float) -> Question:
    return Question(name, values, f"> {least:g}", above(least), below(least))


def _by_network(runs: pl.DataFrame, values: Levels, column: str, networks: pl.Series) -> np.ndarray:
    """``column`` of the rows that have the ``values``, one a network; NaN where one has no such row."""
    rows = at_levels(runs, values).select("seed", column)
    by_network = networks.to_frame().join(rows, on="seed", how="left", maintain_order="left")
    return by_network[column].fill_null(float("nan")).to_numpy()


class ExtremeMeasure(Claim):
    """``measure`` is lower, or higher, at ``level`` than at each other level of the knob."""

    test: Literal["extreme_measure"]
    measure: str
    """Name of the measure, as in measures.csv."""
    group: Annotated[str, Field(min_length=1)] = ALL
    """Kind of client, position of relays or role; ``all`` for a measure that is not parted."""
    level: Level
    """The level of the knob that the claim is about."""
    extreme: Literal["lowest", "highest"]
    """Which of its levels that is."""
    margin: Margin | None = None
    """A smaller difference (of a share, in shares) counts as none; ``precision``'s where it is left out."""

    def check(self, experiment: Any) -> None:
        """The measure has to be there."""
        if self.measure not in MEASURES:
            accepted = ", ".join(MEASURES)
            raise RefusedValue("is no measure", key="measure", value=self.measure, accepted=accepted)

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each other level against the claimed one, paired by network: of shares the difference, of anything
        else the relative one. Shown: the interval lies above 0 (below, for the highest). The opposite: it
        lies below (above). No difference: within ± the margin."""
        margin = analysis.margin if self.margin is None else self.margin
        lowest, share = self.extreme == "lowest", MEASURES[self.measure].share
        what = f"{self.measure}, {self.group}" if self.group != ALL else self.measure
        return [
            Question(
                f"{what}: {other} against {self.level}{place_text(self, levels)}",
                self._changes(analysis, levels, other),
                "> 0" if lowest else "< 0",
                above(0) if lowest else below(0),
                below(0) if lowest else above(0),
                within(margin),
                logarithms=not share,
            )
            for other in other_levels(self, analysis, self.level)
        ]

    def _changes(self, analysis: Analysis, levels: Levels, other: str) -> np.ndarray:
        """The change from the claimed level to ``other`` in each network; NaN where one has no number."""
        runs = analysis.once(numbers_of_runs).get((self.measure, self.group))
        if runs is None:
            return np.full(len(analysis.provenance.seeds), np.nan)
        one, two = ({**levels, self.knob: level} for level in (self.level, other))
        held = {knob: level for knob, level in levels.items() if knob != self.knob}
        pair = paired(runs, "value", one, two, networks_at(runs, held))
        if MEASURES[self.measure].share:
            return pair.difference_s
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isfinite(pair.log_ratio), pair.log_ratio, np.nan)
