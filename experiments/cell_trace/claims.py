"""Tests of claims about the time that cells stay in a relay."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import model_validator

from experiments.cell_trace.cell_times import ANY, TOTAL, cell_times
from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin
from torsweep.config.tracing import Stage, TracedHost
from torsweep.config.variant import Level
from torsweep.stats.claims import Claim, Share
from torsweep.stats.claims.judging import Question, above, below, place_text, within_factor
from torsweep.stats.claims.records import by_network, share_above
from torsweep.stats.statistic import Analysis, Levels
from torsweep.stats.streams.differences import networks_at
from torsweep.units import Between, DurationNs

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
        return by_network(runs, {**here, "host": self.host, **section}, column, networks_at(runs, here))


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
        return [share_above(f"share of {self.stage}, {self.place(levels)}", part / whole, self.least)]
