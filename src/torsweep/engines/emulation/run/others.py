"""What else used the machine's processors while a run measured.

In: the accounts of all processes at two moments (``/proc/PID/stat``, proc(5)), and which are the run's own.
Out: :class:`Other`, those that took most. Threads of the kernel are left out: part of what they do is the
run's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the field ``flags``."""

LEAST_CORES = 0.01
"""A process that took a smaller share of a core is not named."""


@dataclass(frozen=True)
class Other:
    """A process that is not the run's, and how many cores it took in the mean."""

    name: str
    pid: int
    cores: float

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid}, {self.cores:.2f} of a core)"


@dataclass(frozen=True)
class Account:
    """``ticks`` of CPU time so far, those of children that have ended included."""

    name: str
    parent: int
    session: int
    ticks: int


Accounts = Mapping[tuple[int, int], Account]
"""By pid and start, because pids are used again."""


def accounts(proc: Path) -> Accounts:
    """Every process in ``proc`` but threads of the kernel."""
    found = {}
    for file in proc.glob("[0-9]*/stat"):
        try:
            text = file.read_text(errors="replace")
        except OSError:
            # The process has ended since.
            continue
        name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        if not int(fields[6]) & _KERNEL_THREAD:
            ticks = sum(map(int, fields[11:15]))
            pid, start = int(file.parent.name), int(fields[19])
            found[pid, start] = Account(name, int(fields[1]), int(fields[3]), ticks)
    return found


def busiest(before: Accounts, after: Accounts, seconds: float, own: Set[int], most: int = 3) -> list[Other]:
    """The processes of ``after`` that took most CPU time in the ``seconds`` since ``before``.

    ``own`` are processes of the run, with all that are in their sessions. What a process had used before is
    no use of these seconds, even if it has ended and its parent has inherited its account.
    """
    inherited: dict[int, int] = {}
    for key, ended in before.items():
        if key not in after:
            inherited[ended.parent] = inherited.get(ended.parent, 0) + ended.ticks
    used = []
    for (pid, start), now in after.items():
        if pid in own or now.session in own:
            continue
        known = before[pid, start].ticks if (pid, start) in before else 0
        ticks = now.ticks - known - inherited.get(pid, 0)
        used.append(Other(now.name, pid, round(ticks / _TICKS_PER_S / seconds, 3)))
    used = [one for one in used if one.cores >= LEAST_CORES]
    return sorted(used, key=lambda one: (-one.cores, one.pid))[:most]
