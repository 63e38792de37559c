"""Whether a run keeps up with real time: how long its processes wait for a processor, how late its packets
are; and what each relay counts of its bytes, CPU time and queues.

In: the processes of a run while it measures. Out: :class:`RelayMeter`; :class:`Pace`, which refuses a run
that fell behind, while it goes on. docs/emulation.md says what disturbs a run.

The kernel counts for each thread the time that it ran, the time that it could have run and did not, and how
often it began to run (``/proc/PID/schedstat``, ns). tor tells of its queues only when asked (SIGNAL DUMP), as
a line of the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import time
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, field
from pathlib import Path

from torsweep.engines.cost_tables import PROC, process_cpu_ns
from torsweep.engines.emulation.control import Control
from torsweep.engines.emulation.process_layout import QUEUES_FILE
from torsweep.errors import TorsweepError
from torsweep.storage import write_text

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
class ProcessTime:
    """``ticks`` of CPU time so far, those of children that have ended included."""

    name: str
    parent: int
    session: int
    ticks: int


ProcessTimes = Mapping[tuple[int, int], ProcessTime]
"""Processes by pid and start, because pids are used again."""


def process_times(proc: Path) -> ProcessTimes:
    """Every process in ``proc`` but threads of the kernel."""
    times = {}
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
            times[pid, start] = ProcessTime(name, int(fields[1]), int(fields[3]), ticks)
    return times


def busiest(before: ProcessTimes, after: ProcessTimes, seconds: float, run_pids: Set[int]) -> list[Other]:
    """The processes by the CPU time that they took in the ``seconds`` between two looks, most first.

    Those of ``run_pids`` and of their sessions are the run's. What a process had used before is no use of
    these seconds, even if it has ended and a process above it has inherited its account.
    """
    ended = {pid: one for (pid, start), one in before.items() if (pid, start) not in after}
    inherited: dict[int, int] = {}
    for one in ended.values():
        heir = one.parent
        while heir in ended:
            heir = ended[heir].parent
        inherited[heir] = inherited.get(heir, 0) + one.ticks
    used = []
    for (pid, start), now in after.items():
        if pid in run_pids or now.session in run_pids:
            continue
        known = before[pid, start].ticks if (pid, start) in before else 0
        ticks = now.ticks - known - inherited.get(pid, 0)
        used.append(Other(now.name, pid, round(ticks / _TICKS_PER_S / seconds, 3)))
    used = [one for one in used if one.cores >= LEAST_CORES]
    return sorted(used, key=lambda one: (-one.cores, one.pid))


_QUEUED = re.compile(r"(\d+) cells allocated on \d+ circuits")


class RelayMeter:
    """The meter of one relay. ``samples`` holds (monotonic time ns, bytes read, bytes written, CPU time so
    far ns) at the end of each second of the relay's own clock; ``asked_ns`` when it was asked for queues."""

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
        """(monotonic time ns, cells in queues) for each time that it was asked and answered."""
        try:
            counts = _QUEUED.findall(self._queues.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return []
        return [(moment_ns, int(cells)) for moment_ns, cells in zip(self.asked_ns, counts, strict=False)]

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


PACE_FILE = "pace.json"
"""What a refused run leaves in the folder of its processes: ``pace`` and ``late_share``, which the provenance
of a run that kept up has too, the seconds that they are of, and ``others``, what else used the processors."""

MOST_DELAY_MS = 0.5
"""The longest mean wait of a process before a turn. docs/emulation.md: at 0.55 ms and more, first bytes came
twice as late as on a free machine, where no tor waited for longer than 0.28 ms."""

LEAST_RAN = 0.002
"""A process that runs for a smaller share of the time has too few turns to be judged."""

MOST_LATE = 0.01
"""The largest share of a run's packets that may be late."""

JUDGED_FROM_S = 60.0
"""From so many seconds of a run on, the run so far is judged each second: in the first half minute clients
begin, and build circuits all at once, which is no measure of the rest."""


class FellBehind(TorsweepError):
    """The machine was too slow for a run in real time; at another time it may be fast enough."""


@dataclass
class Waiting:
    """The nanoseconds that a process ran and waited, and its turns, at the first look and the last."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]
    worst_share: float = 0.0


@dataclass
class Pace:
    """Looks at processes each second. ``pids`` are those that have to be on time, by name; ``tally`` is where
    the link emulator counts packets (:func:`read_tally`)."""

    pids: Mapping[str, int]
    tally: Path
    waiting: dict[str, Waiting] = field(default_factory=dict)
    packets: list[tuple[int, int]] = field(default_factory=list)
    began_ns: int = 0
    looked_ns: int = 0
    before: ProcessTimes = field(default_factory=dict)

    def look(self) -> None:
        """Read every process's account; the first look is where counting begins."""
        now_ns = time.monotonic_ns()
        for name, pid in self.pids.items():
            account = waits_of(pid)
            if account is None:
                continue
            known = self.waiting.get(name)
            if known is None:
                self.waiting[name] = Waiting(account, account)
                continue
            share = (account[1] - known.last[1]) / max(1, now_ns - self.looked_ns)
            known.worst_share, known.last = max(known.worst_share, share), account
        self.packets = [*self.packets[:1], read_tally(self.tally)]
        if not self.began_ns:
            self.began_ns, self.before = now_ns, process_times(PROC)
        self.looked_ns = now_ns

    @property
    def seen_s(self) -> float:
        """Seconds from the first look to the last."""
        return (self.looked_ns - self.began_ns) / 1e9

    def document(self) -> dict[str, dict[str, float]]:
        """For each process the shares of the time that it ran and that it waited, and its waits in ms."""
        span_ns = max(1, self.looked_ns - self.began_ns)
        return {
            name: {
                "ran": round((seen.last[0] - seen.first[0]) / span_ns, 5),
                "waited": round((seen.last[1] - seen.first[1]) / span_ns, 5),
                "waited_in_worst_second": round(seen.worst_share, 5),
                "delay_ms": round(
                    (seen.last[1] - seen.first[1]) / max(1, seen.last[2] - seen.first[2]) / 1e6, 5
                ),
            }
            for name, seen in self.waiting.items()
        }

    def others(self) -> list[Other]:
        """The other processes that used the processors most since the first look."""
        seconds = (time.monotonic_ns() - self.began_ns) / 1e9
        run_pids = {os.getpid(), *self.pids.values()}
        return busiest(self.before, process_times(PROC), seconds, run_pids)[:3]

    def refuse_when_late(self, folder: Path, whole_s: float) -> None:
        """:meth:`refuse_late` for a run so far that will last ``whole_s``, after :data:`JUDGED_FROM_S`."""
        if JUDGED_FROM_S <= self.seen_s < whole_s:
            (packets, late), (packets_now, late_now) = self.packets[0], self.packets[-1]
            late_share = (late_now - late) / max(1, packets_now - packets)
            self.refuse_late(folder, late_share, f" in the first {self.seen_s:.0f} of {whole_s:.0f} s")

    def refuse_late(self, folder: Path, late_share: float, when: str = "") -> None:
        """Leave the account in ``folder`` and raise FellBehind, where the run fell behind real time.

        ``late_share`` is the share of packets that were handed over more than a millisecond after their time.
        """
        pace = self.document()
        delays = [(seen["delay_ms"], name) for name, seen in pace.items() if seen["ran"] >= LEAST_RAN]
        delay_ms, name = max(delays, default=(0.0, ""))
        if delay_ms > MOST_DELAY_MS:
            what = (
                f"{name} waited {delay_ms:.1f} ms for a processor before each of its turns (at most"
                f" {MOST_DELAY_MS:g} ms)"
            )
        elif late_share > MOST_LATE:
            what = f"{late_share:.1%} of packets were more than 1 ms late (at most {MOST_LATE:.0%})"
        else:
            return
        beside = self.others()
        account = {
            "seconds": round(self.seen_s, 3),
            "pace": pace,
            "late_share": round(late_share, 5),
            "others": [asdict(one) for one in beside],
        }
        write_text(folder / PACE_FILE, json.dumps(account, indent=1) + "\n")
        others = f"beside it ran {', '.join(map(str, beside))}" if beside else NOTHING_BESIDE
        raise FellBehind(f"the run fell behind real time{when}: {what}; {others}; no tables are left")


NOTHING_BESIDE = (
    f"no other process took {LEAST_CORES:.0%} of a core: the network is too large for this machine"
)


def read_tally(file: Path) -> tuple[int, int]:
    """Packets that the link emulator has handed over so far, and those of them that were more than 1 ms late;
    0 before it says. ``file`` holds the two counts (linkem/src/pump.rs)."""
    content = b""
    with contextlib.suppress(OSError):
        content = file.read_bytes()
    return _TALLY.unpack(content) if len(content) == _TALLY.size else (0, 0)


_TALLY = struct.Struct("<QQ")


def waits_of(pid: int) -> tuple[int, int, int] | None:
    """Nanoseconds that all threads of ``pid`` ran and waited, and their turns; None when it is gone."""
    ran = waited = turns = 0
    with contextlib.suppress(OSError):
        for thread in (PROC / str(pid) / "task").iterdir():
            one = (thread / "schedstat").read_text().split()
            ran, waited, turns = ran + int(one[0]), waited + int(one[1]), turns + int(one[2])
        return ran, waited, turns
    return None
