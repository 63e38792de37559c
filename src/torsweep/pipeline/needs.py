"""What a run asks for of the machine that it is sent to: memory, time and cores.

In: the wildcards of a run's rule, and how often it has been tried. Out: megabytes, minutes, cores, worked out
from the run's network and engine (each engine's ``cost.py``), as ``torsweep doctor`` does. A scheduler kills
a job that exceeds them; a profile of a cluster then tries it again, with more.
"""

from __future__ import annotations

import math
from typing import Any

from torsweep.engines.selection import find_engine
from torsweep.pipeline.duration import run_seconds
from torsweep.pipeline.sweep import Sweep, stopping_with_a_line

BESIDE_MB = 600
"""Memory of the processes around the engine: under Slurm two of Snakemake's, 154 MB each, and the one that
prepares the run."""

BESIDE_MIN = 5
"""Minutes for the same, on a busy file system."""

TIME_MARGIN = 4
"""How many times as long as was measured a run may take: a node can be half as fast, and share its memory's
bandwidth with other jobs."""


class Needs:
    """What runs of ``sweep`` need, under the executor of ``workflow``, Snakemake's."""

    def __init__(self, sweep: Sweep, workflow: Any) -> None:
        self._sweep = sweep
        self._workflow = workflow

    @stopping_with_a_line
    def memory_mb(self, wildcards: Any, attempt: int) -> int:
        """The memory that a run may take in its engine, in MB; runs at the same time have to fit together."""
        demand = find_engine(wildcards.engine).demand(self._sweep.network(wildcards.network))
        return (BESIDE_MB + math.ceil(demand.memory_bytes / 1_000_000)) * attempt

    @stopping_with_a_line
    def minutes(self, wildcards: Any, attempt: int) -> int:
        """How long a run may take in its engine, in minutes."""
        experiment = self._sweep.experiment(wildcards.experiment)
        run_s = (experiment.warm_up + experiment.measured) / 1e9
        seconds = run_seconds(wildcards.engine, self._sweep.network(wildcards.network), run_s)
        return (BESIDE_MIN + math.ceil(TIME_MARGIN * seconds / 60)) * attempt

    @stopping_with_a_line
    def whole_machine(self, wildcards: Any) -> int:
        """The cores of a run in real time: all that Snakemake has here; of a node, what its network takes."""
        if self._workflow.local_exec:
            return int(self._workflow.cores)
        return find_engine(wildcards.engine).demand(self._sweep.network(wildcards.network)).cores
