"""The test of claims about what followed downloads wait for."""

from __future__ import annotations

from typing import Literal

from experiments.latency_breakdown.breakdown import METRIC_BYTES, waits_of_runs
from torsweep.config.tracing import Group
from torsweep.config.variant import Level
from torsweep.stats.claims import ClientClaim, Share
from torsweep.stats.claims.judging import Question, place_text
from torsweep.stats.claims.records import by_network, share_above
from torsweep.stats.statistic import Analysis, Levels, MetricName
from torsweep.stats.streams.differences import networks_at


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
        shares = by_network(runs, {**here, **section}, "share", networks_at(runs, here))
        what = self.group.replace("_", " ")
        name = f"share of {what} in {self.metric}, {self.level}{place_text(self, levels)}"
        return [share_above(name, shares, self.least)]
