"""How long runs will take, before they are started.

In: an engine, a network's configuration, seconds of the run. Out: seconds, as they were measured on
processors of 2.8 GHz: right to within a factor of two elsewhere. Each engine's ``cost.py`` has its numbers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from torsweep.config.network import NetworkConfig
from torsweep.engines.selection import find_engine


def run_seconds(engine: str, network: NetworkConfig, run_s: float) -> float:
    """Seconds that one run of ``run_s`` takes of one core; in real time, of the whole machine."""
    return find_engine(engine).run_seconds(network, run_s)


@dataclass(frozen=True)
class Slots:
    """How many jobs go on at the same time: one on each core of this machine, or as many as may be sent to a
    cluster."""

    count: int
    on_cluster: bool = False

    @classmethod
    def of(cls, workflow: Any) -> Slots:
        """The slots of Snakemake's ``workflow``."""
        if not workflow.local_exec:
            return cls(int(workflow.nodes), on_cluster=True)
        return cls(int(workflow.cores or len(os.sched_getaffinity(0))))

    def runs_at_once(self, engine: str) -> int:
        """How many runs go on at the same time: one in each slot, but only one on a machine in real time."""
        if find_engine(engine).real_time and not self.on_cluster:
            return 1
        return max(1, self.count)

    @property
    def text(self) -> str:
        """``on 2 cores``."""
        if self.on_cluster:
            return f"in up to {self.count} jobs at once, without their time in the queue"
        return f"on {self.count} cores"
