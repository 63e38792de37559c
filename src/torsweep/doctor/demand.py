"""What a machine falls short of for a network, and the largest network that it holds.

In: an engine's :class:`~torsweep.engines.contract.Demand`, a :class:`~torsweep.doctor.machine.Machine`. Out:
:class:`Shortfall`, one for each limit that the demand exceeds. Each engine's ``cost.py`` says what it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from torsweep.config.network import NetworkConfig
from torsweep.doctor.machine import Machine
from torsweep.engines.contract import Demand
from torsweep.engines.selection import find_engine
from torsweep.ranges import MOST_NODES

SYSTEM_CONFIGURATION = "https://shadow.github.io/docs/guide/system_configuration.html"


@dataclass(frozen=True)
class Shortfall:
    """Something that a demand exceeds: its name, what there is, what is needed, and how to get more."""

    name: str
    has: int
    needs: int
    remedy: str


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
    """What a network of ``hundredths`` of the size lacks first; empty when it fits."""
    counts = ("relays", "web_clients", "bulk_clients", "perf_clients", "servers", "authorities")
    sizes = {name: round(getattr(network, name) * hundredths / 100) for name in counts}
    grown = network.model_copy(update=sizes)
    if grown.host_count > MOST_NODES:
        return f"{MOST_NODES:,} hosts are the most"
    return next((short.name for short in shortfalls(find_engine(engine).demand(grown), machine)), "")
