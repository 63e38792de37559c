"""What a network asks of a machine in each engine.

In: a :class:`~torsweep.config.network.NetworkConfig`, a :class:`~torsweep.doctor.machine.Machine`. Out:
:class:`Demand`, and what the machine falls short of.

Memory under Shadow is what :mod:`torsweep.engines.shadow.memory` projects before a run. The other numbers are
measured: files, threads and shared memory on 20 and 120 TGen processes and on 266 tor, 263 OnionTrace and
250 TGen ones under Shadow 3.3.0; cellsim on the network ``paper`` and at ten times its size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torsweep.config.network import NetworkConfig
from torsweep.doctor.machine import Machine
from torsweep.engines.shadow.memory import HOST_BYTES, PROGRAM_BYTES, SHADOW_BYTES
from torsweep.ranges import MOST_NODES

SHADOW_FILES = 12
FILES = {"tor": 6, "tgen": 5, "oniontrace": 5}
"""Files open in Shadow's own process: by itself, and for each process of a program."""

THREADS = {"tor": 3, "tgen": 1, "oniontrace": 1}
"""Of a process; the kernel's limits count threads."""

SHARED_BYTES_PER_PROCESS = 12_300
"""Shared memory through which Shadow talks to one process."""

CELLSIM_BYTES, CELLSIM_BYTES_PER_HOST, LATENCY_BYTES_PER_PAIR = 7_000_000, 13_000, 4

EMULATION_CORES_PER_HOST = 0.0027
"""docs/emulation.md: 0.8 of a core for 316 hosts, all of whose relays are busy."""

BUSY_SHARE_OF_CORES = 0.7
"""Of the cores' time; nearer to the whole, processes wait for each other."""

EMULATION_FILES_PER_HOST = 4
"""Of the engine and of the link emulator."""

SYSTEM_CONFIGURATION = "https://shadow.github.io/docs/guide/system_configuration.html"


@dataclass(frozen=True)
class Demand:
    """What a network takes in an engine: bytes, and counts of threads and of files in one process."""

    memory_bytes: int
    shared_memory_bytes: int = 0
    threads: int = 1
    open_files: int = 0
    cores: int = 1


@dataclass(frozen=True)
class Shortfall:
    """Something that a demand exceeds: its name, what there is, what is needed, and how to get more."""

    name: str
    has: int
    needs: int
    remedy: str


def shadow_demand(network: NetworkConfig) -> Demand:
    """Real tor, TGen and OnionTrace for every host that has them, under Shadow."""
    clients = network.host_count - network.relays - network.authorities - network.servers
    counts = {
        "tor": network.host_count - network.servers,
        "tgen": clients + network.servers,
        "oniontrace": network.relays + clients,
    }
    return Demand(
        memory_bytes=SHADOW_BYTES + HOST_BYTES * network.host_count + _sum(counts, PROGRAM_BYTES),
        shared_memory_bytes=sum(counts.values()) * SHARED_BYTES_PER_PROCESS,
        threads=_sum(counts, THREADS),
        open_files=SHADOW_FILES + _sum(counts, FILES),
    )


def emulation_demand(network: NetworkConfig) -> Demand:
    """Real tor for relays, authorities and clients, on this kernel and in real time."""
    counts = {"tor": network.host_count - network.servers}
    busy = EMULATION_CORES_PER_HOST * network.host_count
    return Demand(
        memory_bytes=_sum(counts, PROGRAM_BYTES),
        threads=_sum(counts, THREADS),
        open_files=EMULATION_FILES_PER_HOST * network.host_count,
        cores=math.ceil(busy / BUSY_SHARE_OF_CORES),
    )


def cellsim_demand(network: NetworkConfig) -> Demand:
    """One process, which holds every host and the latency of every pair of them."""
    hosts = network.host_count
    return Demand(CELLSIM_BYTES + hosts * CELLSIM_BYTES_PER_HOST + hosts**2 * LATENCY_BYTES_PER_PAIR)


DEMANDS = {"shadow": shadow_demand, "emulation": emulation_demand, "cellsim": cellsim_demand}
"""By engine."""


def shortfalls(demand: Demand, machine: Machine) -> list[Shortfall]:
    """What ``machine`` has too little of; a limit that is not known counts as none."""
    limits = (
        ("bytes of memory", machine.available_bytes, demand.memory_bytes, "end other programs, or use less"),
        (
            "bytes of /dev/shm",
            machine.shared_memory_free_bytes,
            demand.shared_memory_bytes,
            "mount it larger, in a container with --shm-size",
        ),
        ("threads", machine.thread_limit, demand.threads, f"raise the limit: {SYSTEM_CONFIGURATION}"),
        ("open files", machine.open_files, demand.open_files, f"raise the limit: {SYSTEM_CONFIGURATION}"),
        ("cores", machine.cores, demand.cores, "real time waits for none: a smaller network, or cellsim"),
    )
    return [
        Shortfall(name, has, needs, remedy)
        for name, has, needs, remedy in limits
        if has is not None and needs > has
    ]


def largest_scale(engine: str, network: NetworkConfig, machine: Machine) -> tuple[float, str]:
    """How many times ``network`` the machine holds in ``engine``, to a hundredth, and what allows no more.

    Every kind of host grows alike, up to the largest network there can be.
    """
    low, high = 0, 100
    while not _lacking(engine, network, high, machine):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _lacking(engine, network, middle, machine) else (middle, high)
    return low / 100, _lacking(engine, network, high, machine)


def _lacking(engine: str, network: NetworkConfig, hundredths: int, machine: Machine) -> str:
    """What a network of so many hundredths the size lacks first; empty when it fits."""
    counts = ("relays", "web_clients", "bulk_clients", "perf_clients", "servers", "authorities")
    sizes = {name: round(getattr(network, name) * hundredths / 100) for name in counts}
    grown = network.model_copy(update=sizes)
    if grown.host_count > MOST_NODES:
        return f"{MOST_NODES:,} hosts are the most"
    return next((short.name for short in shortfalls(DEMANDS[engine](grown), machine)), "")


def _sum(counts: Mapping[str, int], each: Mapping[str, int]) -> int:
    return sum(count * each[program] for program, count in counts.items())
