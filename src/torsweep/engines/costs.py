"""What processes cost: processor time and memory, of those of tor as the table of costs.

In: the ids of processes that still run. Out: a frame as in :data:`~torsweep.engines.table_schema.COSTS`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.engines.table_schema import COSTS
from torsweep.network.model import Network

PROC = Path("/proc")


@dataclass(frozen=True)
class Cost:
    """Processor time of all threads of a process, user and system, in µs; its VmHWM (proc(5)) in bytes."""

    cpu_us: int
    peak_memory_bytes: int


def process_cpu_ns(pid: int) -> int:
    """Processor time so far of all threads of the process ``pid``, in ns; OSError when it is gone."""
    # The kernel's number of another process's CPU clock: MAKE_PROCESS_CPUCLOCK in posix-timers_types.h.
    return time.clock_gettime_ns((~pid << 3) | 2)


def cost_of(pid: int) -> Cost | None:
    """What the process ``pid`` has cost since its start; None when it is gone."""
    try:
        status = (PROC / str(pid) / "status").read_text()
        cpu_us = process_cpu_ns(pid) // 1000
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    # A process that has ended, and for which nobody has waited yet, has no memory.
    return Cost(cpu_us, int(peak[1]) * 1024) if peak else None


def costs_frame(costs: Mapping[str, Cost], network: Network, ready_us: Mapping[str, int]) -> pl.DataFrame:
    """A row for each host of ``network`` in ``costs``: authorities, relays, clients.

    ``ready_us`` is how long a client's start took, where that is known.
    """
    roles = {
        **{authority.name: "authority" for authority in network.authorities},
        **{relay.name: "relay" for relay in network.relays},
        **{client.name: "client" for client in network.clients},
    }
    rows = [
        (name, role, costs[name].cpu_us, costs[name].peak_memory_bytes, ready_us.get(name))
        for name, role in roles.items()
        if name in costs
    ]
    return pl.DataFrame(rows, schema=COSTS.polars, orient="row")


def group_pids(group: int) -> list[int]:
    """The processes of the process group ``group``."""
    pids = []
    for stat in PROC.glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rsplit(")", 1)[1].split()[2]) == group:
                pids.append(int(stat.parent.name))
    return pids


def resident_bytes(pids: Iterable[int]) -> int:
    """What ``pids`` take together: their proportional set sizes (proc(5)), so that shared pages count
    once."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            size = re.search(
                r"^Pss:\s+(\d+) kB", (PROC / str(pid) / "smaps_rollup").read_text(), re.MULTILINE
            )
            total += int(size[1]) * 1024 if size else 0
    return total
