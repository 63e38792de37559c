"""How much processor time other programs took while something was measured.

In: the processes that belong to the measurement. Out: the cores that everything else on the machine used, on
average. What is measured is CPU time, which waiting does not lengthen, but caches and cores are shared.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from torsweep.engines.emulation.run.meter import process_cpu_ns

IDLE_FIELDS = (3, 4)
"""Fields of the line ``cpu`` in /proc/stat (proc(5)) in which processors idle: idle and iowait."""

TIME_FIELDS = 8
"""Fields up to steal; the first two already contain the time of guests."""


def busy_s(stat: str, ticks_per_s: float) -> float:
    """Seconds that all processors together have been busy, by the text of /proc/stat."""
    ticks = [int(field) for field in stat.split("\n", 1)[0].split()[1 : 1 + TIME_FIELDS]]
    return sum(count for place, count in enumerate(ticks) if place not in IDLE_FIELDS) / ticks_per_s


class Beside:
    """Counts from its making on. ``pids`` run until :meth:`cores` is asked."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._from = (time.monotonic(), *self._used())

    def cores(self) -> float:
        """What was used beside ``pids``, in cores; 0 where the counts' coarseness makes it less."""
        began, all_s, own_s = self._from
        all_now_s, own_now_s = self._used()
        return max(0.0, (all_now_s - all_s - (own_now_s - own_s)) / (time.monotonic() - began))

    def _used(self) -> tuple[float, float]:
        own_ns = 0
        for pid in self._pids:
            with contextlib.suppress(OSError):
                own_ns += process_cpu_ns(pid)
        stat = Path("/proc/stat").read_text(encoding="ascii")
        return busy_s(stat, os.sysconf("SC_CLK_TCK")), own_ns / 1e9
