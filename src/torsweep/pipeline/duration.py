"""How long runs will take, before they are started.

In: an engine, a network's configuration, seconds of the run. Out: seconds, as they were measured on
processors of 2.8 GHz: right to within a factor of two elsewhere.
"""

from __future__ import annotations

from torsweep.config.network import NetworkConfig
from torsweep.engines.selection import program_of
from torsweep.engines.shadow.settings import BOOTSTRAP_NS

CELLSIM_S_PER_HOST_SECOND = 1.4e-5
"""bench/results/speed.json: 8 s for 480 s of 1,253 hosts."""

SHADOW_S_PER_HOST_SECOND = 4e-3
"""docs/shadow.md: 1.2 CPU s a simulated second of 316 hosts, 4.0 to 5.5 of 1,253."""

EMULATION_START_S, EMULATION_START_S_PER_CLIENT = 45, 0.25
"""docs/emulation.md: from the first process to the first download."""


def run_seconds(engine: str, network: NetworkConfig, run_s: float) -> float:
    """Seconds that one run of ``run_s`` takes of one core; in emulation, of the whole machine."""
    kind, hosts = program_of(engine), network.host_count
    if kind == "emulation":
        clients = hosts - network.relays - network.authorities - network.servers
        return EMULATION_START_S + EMULATION_START_S_PER_CLIENT * clients + run_s
    if kind == "shadow":
        return SHADOW_S_PER_HOST_SECOND * hosts * (run_s + BOOTSTRAP_NS / 1e9)
    return CELLSIM_S_PER_HOST_SECOND * hosts * run_s


def runs_at_once(engine: str, cores: int) -> int:
    """How many runs go on side by side: one a core, but one a machine in real time."""
    return 1 if program_of(engine) == "emulation" else max(1, cores)
