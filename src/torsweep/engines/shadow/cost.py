"""What a network takes under Shadow, of time, memory and the kernel's limits.

In: a network's configuration. Out: seconds, and a :class:`~torsweep.engines.contract.Demand`. Memory is what
:mod:`~torsweep.engines.shadow.memory` projects before a run; files, threads and shared memory were measured
on 20 and 120 TGen processes and on 266 tor, 263 OnionTrace and 250 TGen ones under Shadow 3.3.0.
"""

from __future__ import annotations

from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand, counted
from torsweep.engines.shadow.memory import HOST_BYTES, PROGRAM_BYTES, SHADOW_BYTES
from torsweep.engines.shadow.settings import BOOTSTRAP_NS

S_PER_HOST_SECOND = 4e-3
"""docs/shadow.md: 1.2 CPU s a simulated second of 316 hosts, 4.0 to 5.5 of 1,253."""

SHADOW_FILES = 12
FILES = {"tor": 6, "tgen": 5, "oniontrace": 5}
"""Files open in Shadow's own process: by itself, and for each process of a program."""

THREADS = {"tor": 3, "tgen": 1, "oniontrace": 1}
"""Threads of one process of each program: the kernel's limits count threads."""

SHARED_BYTES_PER_PROCESS = 12_300
"""Shared memory through which Shadow talks to one process."""


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds of one core that a run of ``run_s`` simulated seconds takes, its start included."""
    return S_PER_HOST_SECOND * network.host_count * (run_s + BOOTSTRAP_NS / 1e9)


def demand(network: NetworkConfig) -> Demand:
    """Real tor, TGen and OnionTrace for every host that has them, under Shadow."""
    counts = {
        "tor": network.host_count - network.servers,
        "tgen": network.client_count + network.servers,
        "oniontrace": network.relays + network.client_count,
    }
    return Demand(
        memory_bytes=SHADOW_BYTES + HOST_BYTES * network.host_count + counted(counts, PROGRAM_BYTES),
        shared_memory_bytes=sum(counts.values()) * SHARED_BYTES_PER_PROCESS,
        threads=counted(counts, THREADS),
        open_files=SHADOW_FILES + counted(counts, FILES),
    )
