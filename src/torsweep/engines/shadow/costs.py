"""What each tor of a simulation costs, seen from outside while Shadow runs it.

In: Shadow's process group. Out: ``costs.json`` in Shadow's folder: host and
:class:`~torsweep.engines.costs.Cost`.

The processes that Shadow manages are processes of this machine, each in the folder of its host. Their
processor time is that of tor's own code, of the shim that Shadow loads into each process, and of the kernel
when it hands a system call to Shadow and goes on afterwards. What Shadow does for the call, its TCP above
all, is spent in Shadow's own process and does not count. So the costs say which of two tors computes more,
not what tor costs on a real machine. Peak memory includes the pages that a process shares with Shadow.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.engines.costs import PROC, Cost, cost_of
from torsweep.engines.shadow.simulate import group_pids
from torsweep.formats.json_file import read_json
from torsweep.storage import write_text

COSTS_LOG = "costs.json"

_PAUSE = 100
"""Between two looks passes this many times as long as a look takes: watching costs 1 % of a core at most."""


@dataclass
class CostWatch:
    """Looks at the tors of a simulation every now and then, to tell what each takes from time 0 on.

    Time 0 is when the first TGen of the ``clients`` starts. The last looks before it and before Shadow's end
    count: each may be early by the time from one look to the next.
    """

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
        self._next_s = time.monotonic() + _PAUSE * (time.thread_time() - started_s)

    def _find(self, group: int) -> None:
        """Find the tors of ``group``. All of them run at time 0, so none has to be found later."""
        running = {pid: _program_and_host(pid) for pid in group_pids(group)}
        self._tors = {pid: host for pid, (program, host) in running.items() if program == "tor"}
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
    """What the process ``pid`` runs, and the host in whose folder it works; empty when it is gone."""
    try:
        program = (PROC / str(pid) / "comm").read_text().strip()
        return program, Path(os.readlink(PROC / str(pid) / "cwd")).name
    except OSError:
        return "", ""
