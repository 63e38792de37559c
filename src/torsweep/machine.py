"""What this machine has room for: cores, memory, shared memory, and the kernel's limits.

In: ``/proc``, ``/sys/fs/cgroup``, ``/dev/shm`` and the limits of this process. Out: :class:`Machine`. What
cannot be read is None: no limit is known, and none is invented.
"""

from __future__ import annotations

import os
import platform
import re
import resource
from dataclasses import dataclass
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Machine:
    """Sizes in bytes; limits are counts, None where there is none or it is not known.

    Memory is that of a control group where it allows less than the machine has. ``open_files`` and
    ``processes`` are the hard limits, up to which Shadow raises the soft ones. ``overcommit`` is the kernel's
    ``vm.overcommit_memory``: 2 refuses what may not be used. With ``autogroup`` the kernel shares cores
    between sessions before it looks at nice (sched(7)).
    """

    cores: int
    memory_bytes: int | None
    available_bytes: int | None
    shared_memory_bytes: int | None
    shared_memory_free_bytes: int | None
    shared_memory_executable: bool | None
    open_files: int | None
    processes: int | None
    pid_max: int | None
    threads_max: int | None
    map_count_max: int | None
    overcommit: int | None
    autogroup: bool
    kernel: str
    architecture: str

    @property
    def thread_limit(self) -> int | None:
        """The least of the limits on how many threads, those of all processes, there may be."""
        return _least(self.processes, self.pid_max, self.threads_max)


def read_machine(root: Path = Path("/")) -> Machine:
    """This machine, its files read below ``root``."""
    memory = _memory(root / "proc/meminfo")
    groups = _control_groups(root)
    memory_limits = [limit for group in groups if (limit := _first(group, _MEMORY_LIMIT)) is not None]
    kernel = root / "proc/sys/kernel"
    total, free, executable = _shared_memory(root / SHARED_MEMORY.relative_to("/"), root / "proc/mounts")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=_least(memory.get("MemTotal"), *memory_limits),
        available_bytes=_least(memory.get("MemAvailable"), *map(_memory_left, groups)),
        shared_memory_bytes=total,
        shared_memory_free_bytes=free,
        shared_memory_executable=executable,
        open_files=_hard_limit(resource.RLIMIT_NOFILE),
        processes=_least(
            _hard_limit(resource.RLIMIT_NPROC), *(_number(group / "pids.max") for group in groups)
        ),
        pid_max=_number(kernel / "pid_max"),
        threads_max=_number(kernel / "threads-max"),
        map_count_max=_number(root / "proc/sys/vm/max_map_count"),
        overcommit=_number(root / "proc/sys/vm/overcommit_memory"),
        autogroup=_number(kernel / "sched_autogroup_enabled") == 1,
        kernel=platform.release(),
        architecture=platform.machine(),
    )


def _memory(file: Path) -> dict[str, int]:
    """The lines of /proc/meminfo that are in kB, as bytes."""
    lines = re.findall(r"^(\w+): +(\d+) kB$", _text(file), re.MULTILINE)
    return {name: int(amount) * 1024 for name, amount in lines}


_MEMORY_LIMIT = ("memory.max", "memory.limit_in_bytes")
_MEMORY_USED = ("memory.current", "memory.usage_in_bytes")


def _control_groups(root: Path) -> list[Path]:
    """The folders of this process's control groups and of those above them: each one's limits count.

    With version 2 all controllers are in one tree, with version 1 each has a tree of its own (cgroups(7)).
    A container may show its own group as the top of the tree.
    """
    top = root / "sys/fs/cgroup"
    lines = [line.split(":", 2) for line in _text(root / "proc/self/cgroup").splitlines()]
    found = []
    for tree, controllers in ((top, ""), (top / "memory", "memory"), (top / "pids", "pids")):
        paths = [path for _, names, path in lines if controllers in names.split(",")]
        own = tree / paths[0].lstrip("/") if paths else tree
        found += [group for group in (own, *own.parents) if group.is_relative_to(tree)]
    return found


def _first(group: Path, names: tuple[str, ...]) -> int | None:
    return next((number for name in names if (number := _number(group / name)) is not None), None)


def _memory_left(group: Path) -> int | None:
    """What ``group`` may still use, with its copies of files, which the kernel gives up when it is needed."""
    limit, used = _first(group, _MEMORY_LIMIT), _first(group, _MEMORY_USED)
    if limit is None or used is None:
        return None
    cached = re.search(r"^(?:total_)?inactive_file (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
    return limit - used + (int(cached[1]) if cached else 0)


def _shared_memory(folder: Path, mounts: Path) -> tuple[int | None, int | None, bool | None]:
    """Size, free room, and whether files there may be executed."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return None, None, None
    options = [
        line.split()[3].split(",")
        for line in _text(mounts).splitlines()
        if line.split()[1:2] == [str(SHARED_MEMORY)]
    ]
    executable = "noexec" not in options[-1] if options else None
    return room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize, executable


def _hard_limit(which: int) -> int | None:
    hard = resource.getrlimit(which)[1]
    return None if hard == resource.RLIM_INFINITY else hard


def _number(file: Path) -> int | None:
    """The number in a file of the kernel's; None for ``max``, something else, or no file."""
    text = _text(file).strip()
    return int(text) if text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
