"""How long runs will take, before they are started.

In: an engine, a network's configuration, seconds of the run. Out: seconds, as they were measured on
processors of 2.8 GHz: right to within a factor of two elsewhere. Each engine's ``cost.py`` has its numbers.
"""

from __future__ import annotations

from torsweep.config.network import NetworkConfig
from torsweep.engines.selection import find_engine


def run_seconds(engine: str, network: NetworkConfig, run_s: float) -> float:
    """Seconds that one run of ``run_s`` takes of one core; in real time, of the whole machine."""
    return find_engine(engine).run_seconds(network, run_s)


def runs_at_once(engine: str, cores: int) -> int:
    """How many runs go on side by side: one a core, but one a machine in real time."""
    return 1 if find_engine(engine).real_time else max(1, cores)
