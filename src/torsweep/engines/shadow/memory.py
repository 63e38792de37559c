"""Memory of a simulation: what it will take, what it takes, and what there is.

In: the numbers of hosts and processes; /proc. Out: bytes, and one line when memory does not suffice.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torsweep.engines.shadow.simulate import Simulation
from torsweep.errors import TorsweepError

SHADOW_BYTES = 180_000_000
HOST_BYTES = 830_000
PROGRAM_BYTES = {"tor": 3_000_000, "tgen": 1_430_000, "oniontrace": 530_000}
"""Half as much again as the proportional set sizes measured under load in a network of 316 hosts (a
client's tor 1.8 MB, a relay's 5.2 MB, TGen 0.95 MB, OnionTrace 0.35 MB): queues grow with load."""

OTHER_PROGRAM_BYTES = 5_000_000

LEAST_AVAILABLE_BYTES = 300_000_000
"""With less memory than this, the kernel may soon kill processes."""

_PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


def projected_bytes(simulation: Simulation) -> int:
    """What ``simulation`` may take when all its processes run."""
    names = [Path(process.path).name for host in simulation.hosts.values() for process in host.processes]
    return (
        SHADOW_BYTES
        + HOST_BYTES * len(simulation.hosts)
        + sum(PROGRAM_BYTES.get(name, OTHER_PROGRAM_BYTES) for name in names)
    )


def available_bytes() -> int:
    """What processes can still take on this machine, or in the control group that this one is in."""
    available = _field(_PROC / "meminfo", "MemAvailable:")
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
        # File cache counts as used, and is given back when asked for.
        reclaimable = _field_bytes(CGROUP / "memory.stat", "inactive_file")
    except (OSError, ValueError):
        return available
    return available if limit == "max" else min(available, int(limit) - used + reclaimable)


def require_memory(simulation: Simulation) -> int:
    """The projection for ``simulation``; TorsweepError when less than that is available."""
    needed, available = projected_bytes(simulation), available_bytes()
    if needed + LEAST_AVAILABLE_BYTES > available:
        raise TorsweepError(
            f"not enough memory: {len(simulation.hosts)} hosts need up to {needed / 1e9:.1f} GB,"
            f" {available / 1e9:.1f} GB are available; run fewer side by side, or a smaller network"
        )
    return needed


def group_pids(group: int) -> list[int]:
    """The processes of the process group ``group``."""
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group:
                found.append(int(entry.name))
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """What ``pids`` take together: their proportional set sizes, so that shared pages count once."""
    total = 0
    for pid in pids:
        try:
            total += _field(_PROC / str(pid) / "smaps_rollup", "Pss:")
        except (OSError, ValueError):
            continue
    return total


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise ValueError(f"{file}: no {name}")


def _field_bytes(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        if line.startswith(f"{name} "):
            return int(line.split()[1])
    return 0
