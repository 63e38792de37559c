"""What one relay moves, uses and holds, each second.

In: its control port, its process, the file that it writes its queues to. Out: :class:`RelayMeter`, with
what the relay counts of raw bytes, its CPU time, and the cells in its circuits' queues.

tor tells of its queues only when asked to dump its statistics (SIGNAL DUMP), as a line of the log; other
lines of the dump are of domains that are not logged.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from torsweep.engines.emulation.directory.layout import QUEUES_FILE
from torsweep.engines.emulation.run.control import Control

_QUEUED = re.compile(r"(\d+) cells allocated on \d+ circuits")


def process_cpu_ns(pid: int) -> int:
    """CPU time so far of all threads of the process ``pid``; OSError when it is gone."""
    # The kernel's number of another process's CPU clock: MAKE_PROCESS_CPUCLOCK in posix-timers_types.h.
    return time.clock_gettime_ns((~pid << 3) | 2)


class RelayMeter:
    """The meter of one relay. ``samples`` holds (monotonic time ns, bytes read, bytes written, CPU time so
    far ns) at the end of each second of the relay's own clock; ``asked_ns`` the times at which it was asked
    for its queues."""

    def __init__(self, control: Control, pid: int, folder: Path) -> None:
        self.samples: list[tuple[int, int, int, int]] = []
        self.asked_ns: list[int] = []
        self._control = control
        self._queues = folder / QUEUES_FILE
        self._pid = pid

    @classmethod
    async def on(cls, control: Control, pid: int, folder: Path) -> RelayMeter:
        """A meter that has begun to count."""
        meter = cls(control, pid, folder)
        await control.listen({"BW": meter._bandwidth_event})
        return meter

    async def ask_for_queues(self) -> None:
        """Have the relay write down how many cells it has queued now."""
        self.asked_ns.append(time.monotonic_ns())
        await self._control.ask("SIGNAL DUMP")

    def queued_cells(self) -> list[tuple[int, int]]:
        """(monotonic time ns, cells in queues) for each time that it was asked, as far as it answered."""
        try:
            told = _QUEUED.findall(self._queues.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return []
        return [(moment_ns, int(cells)) for moment_ns, cells in zip(self.asked_ns, told, strict=False)]

    def _bandwidth_event(self, words: list[str], now_ns: int) -> None:
        try:
            cpu_ns = process_cpu_ns(self._pid)
        except OSError:
            return
        self.samples.append((now_ns, int(words[0]), int(words[1]), cpu_ns))

    def quiet(self, seconds: int, most_bytes_per_s: int) -> bool:
        """Whether the relay moved at most so many bytes in each of its last ``seconds``."""
        last = self.samples[-seconds:]
        return len(last) == seconds and all(max(read, out) <= most_bytes_per_s for _, read, out, _ in last)
