"""Follows a simulation to its end, or stops it as soon as it cannot succeed; what each of its tors costs.

In: Shadow at work in a folder, and what it says. Out: what it cost, or one line on what failed first;
``costs.json`` in Shadow's folder: host and :class:`~torsweep.engines.cost_tables.Cost`.

The processes that Shadow manages are processes of this machine, each in the folder of its host. Their
processor time is that of tor's code, of Shadow's shim in each process, and of the kernel when it hands a
system call to Shadow. What Shadow does for the call, its TCP above all, is spent in Shadow's own process and
does not count: costs say which of two tors computes more, not what tor costs on a real machine. Peak memory
includes the pages that a process shares with Shadow.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.engines.contract import Say
from torsweep.engines.cost_tables import PROC, Cost, cost_of, group_pids, resident_bytes
from torsweep.engines.shadow.process import ShadowProcess, process_failure, shadow_failure
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, LEAST_AVAILABLE_BYTES
from torsweep.errors import TorsweepError
from torsweep.formats.files import read_json
from torsweep.machine import read_machine
from torsweep.storage import write_text
from torsweep.tor.arti_client import READY
from torsweep.units import rounded_duration

COSTS_LOG = "costs.json"
ARTI = "arti"
"""What the program is called."""

_PAUSE_PER_LOOK = 100
"""The pause between two looks, in durations of a look: watching costs 1 % of a core at most."""


@dataclass
class CostWatch:
    """Looks at the tors of a simulation every now and then, to tell what each takes from time 0 on: when the
    first TGen of the ``clients`` starts. The last looks before it and before Shadow's end count: each may be
    early by the time from one look to the next."""

    clients: Sequence[str]
    costs: dict[str, Cost] = field(default_factory=dict)
    _tors: dict[int, str] = field(default_factory=dict)
    _before_us: dict[str, int] = field(default_factory=dict)
    _begun: bool = False
    _next_s: float = 0.0

    def look(self, group: int) -> None:
        """Look at the tors in the process group ``group``, unless the last look was a moment ago."""
        if time.monotonic() < self._next_s:
            return
        started_s = time.thread_time()
        if not self._begun:
            self._find(group)
        for pid, host in self._tors.items():
            cost = cost_of(pid)
            if cost and self._begun:
                self.costs[host] = replace(cost, cpu_us=cost.cpu_us - self._before_us.get(host, 0))
            elif cost:
                self._before_us[host] = cost.cpu_us
        self._next_s = time.monotonic() + _PAUSE_PER_LOOK * (time.thread_time() - started_s)

    def _find(self, group: int) -> None:
        """Find the tors of ``group``. All of them run at time 0, so none has to be found later."""
        running = {pid: _program_and_host(pid) for pid in group_pids(group)}
        self._tors = {pid: host for pid, (program, host) in running.items() if program in ("tor", ARTI)}
        self._begun = any(program == "tgen" and host in self.clients for program, host in running.values())

    def write(self, folder: Path) -> None:
        """Write costs.json into ``folder``."""
        document = {host: asdict(cost) for host, cost in self.costs.items()}
        write_text(folder / COSTS_LOG, json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_costs(folder: Path) -> dict[str, Cost]:
    """Host → what its tor cost, as costs.json in ``folder`` has it; empty where an older version ran."""
    file = folder / COSTS_LOG
    if not file.exists():
        return {}
    return {host: validate(Cost, cost, file) for host, cost in read_json(file).items()}


def _program_and_host(pid: int) -> tuple[str, str]:
    """The program of ``pid``, and the host in whose folder it works; empty when it has ended."""
    try:
        program = (PROC / str(pid) / "comm").read_text().strip()
        return program, Path(os.readlink(PROC / str(pid) / "cwd")).name
    except OSError:
        return "", ""


_PROGRESS_LINE = re.compile(
    r"Progress: \d+% — simulated: ([\d:.]+)/([\d:.]+), realtime: ([\d:.]+), processes"
)


@dataclass(frozen=True)
class Progress:
    """One look at a simulation; times in seconds."""

    simulated_s: float
    end_s: float
    wall_s: float

    def line(self, looks: Sequence[Progress]) -> str:
        """``42 %: 277 of 660 s simulated, about 5 min left``, at the pace of the latter half of what was
        simulated: the start is faster, and a single minute says little. ``looks`` are those before."""
        simulated, wall = self.simulated_s, self.wall_s
        halfway = next((look for look in reversed(looks) if look.simulated_s <= simulated / 2), None)
        if halfway is not None and wall > halfway.wall_s:
            simulated, wall = simulated - halfway.simulated_s, wall - halfway.wall_s
        share = 100 * self.simulated_s / self.end_s
        text = f"{share:.0f} %: {self.simulated_s:.0f} of {self.end_s:.0f} s simulated"
        if simulated > 0:
            left_s = (self.end_s - self.simulated_s) * wall / simulated
            text += f", about {rounded_duration(left_s)} left"
        return text


def parse_progress(line: str) -> Progress | None:
    """The progress that ``line`` states; None for other lines."""
    match = _PROGRESS_LINE.search(line)
    if match is None:
        return None
    return Progress(*map(_seconds, match.groups()))


def _seconds(text: str) -> float:
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total


BOOTSTRAPPED = "Bootstrapped 100%"
MAY_BE_LATE = 0.05


@dataclass
class Watch:
    """What to look for. When ``bootstrap_s`` have been simulated, ``check_network`` raises an error unless
    the network is as it should be; ``check_programs`` is asked all the time. One of ``clients`` has to be
    ready, and all but the share ``may_be_late``, as tor may wait for minutes before it asks for a descriptor
    a second time."""

    folder: Path
    clients: Sequence[str]
    bootstrap_s: float
    say: Say
    available: Callable[[], int | None] = lambda: read_machine().available_bytes
    may_be_late: float = MAY_BE_LATE
    check_network: Callable[[], object] = lambda: None
    check_programs: Callable[[], object] = lambda: None
    peak_bytes: int = 0
    looks: list[Progress] = field(default_factory=list)
    _checked: bool = False
    _said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tors = CostWatch(self.clients)

    def follow(self, process: ShadowProcess) -> float:
        """Follow ``process`` to its end; the wall time it took, in seconds. TorsweepError as soon as a
        process dies, memory is about to run out, or clients are not ready in time; and when Shadow itself
        fails."""
        started = time.monotonic()
        for line in process.lines():
            self._check_memory()
            self.check_programs()
            self.tors.look(process.pid)
            if line:
                self._hear(line, process.pid)
        wall_s = time.monotonic() - started
        code = process.wait()
        if code:
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            why = shadow_failure(self.folder, self._said)
            raise TorsweepError(f"{self.folder}: Shadow failed ({how}): {why}")
        # Shadow reports once a minute: a short run can be over before a report says that its clients had to
        # be ready.
        self._check_clients()
        return wall_s

    def _hear(self, line: str, group: int) -> None:
        self._said = [*self._said[-200:], line]
        failure = process_failure(line, self.folder)
        if failure:
            raise TorsweepError(f"{self.folder}: {failure}")
        progress = parse_progress(line)
        if progress is None:
            return
        if progress.simulated_s >= self.bootstrap_s:
            self._check_clients()
        self.peak_bytes = max(self.peak_bytes, resident_bytes(group_pids(group)))
        self.say(f"{progress.line(self.looks)}; {self.peak_bytes / 1e9:.1f} GB")
        self.looks.append(progress)

    def _check_memory(self) -> None:
        available = self.available()
        if available is not None and available < LEAST_AVAILABLE_BYTES:
            raise TorsweepError(
                f"{self.folder}: stopped, because memory is about to run out:"
                f" {available / 1e6:.0f} MB are left on this machine"
            )

    def _check_clients(self) -> None:
        if self._checked:
            return
        self._checked = True
        self.check_network()
        late = [name for name in self.clients if not self._ready(name)]
        if not late:
            return
        problem = (
            f"{len(late)} of {len(self.clients)} clients had not bootstrapped after {self.bootstrap_s:.0f}"
            f" simulated s, the first being {late[0]}: {self._last_word(late[0])}"
        )
        if len(late) == len(self.clients) or len(late) > self.may_be_late * len(self.clients):
            raise TorsweepError(f"{self.folder}: {problem}")
        self.say(problem)

    def _log(self, client: str) -> str:
        folder = self.folder / HOSTS_FOLDER / client
        files = sorted([*folder.glob("tor.*.stdout"), *folder.glob(f"{ARTI}.*.std*")])
        return "".join(file.read_text(errors="replace") for file in files)

    def _ready(self, client: str) -> bool:
        log = self._log(client)
        return BOOTSTRAPPED in log or READY in log

    def _last_word(self, client: str) -> str:
        lines = self._log(client).splitlines()
        starts = [line for line in lines if "Bootstrapped" in line] or lines
        return starts[-1] if starts else "it said nothing"
