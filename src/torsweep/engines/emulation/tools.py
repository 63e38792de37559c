"""What a run of the emulation takes: its programs, cores, open files and the time of its start.

In: run.json, the folder of builds, PATH; a number of hosts. Out: :class:`EmulationTools`, or a ToolMissing;
numbers as measured (docs/emulation.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.host_tors import HostTors, find_host_tors
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.tools import require_own_program


@dataclass(frozen=True)
class EmulationTools:
    """The builds of tor, and the path of the link emulator."""

    tors: HostTors
    linkem: Path


def find_tools(run: RunSpec) -> EmulationTools:
    """Both programs, tor of the builds that ``run`` asks for; ToolMissing for the first that is not there."""
    return EmulationTools(find_host_tors(run), require_linkem())


def require_linkem() -> Path:
    """The program linkem; ToolMissing when it is not there."""
    return require_own_program("linkem")


START_S, START_S_PER_CLIENT = 15, 0.06
"""docs/emulation.md: from the first process to time 0."""

CORES_PER_HOST = 0.0027
"""docs/emulation.md: 0.8 of a core for 316 hosts, all of whose relays are busy."""

BUSY_SHARE_OF_CORES = 0.7
"""The share of the cores' time that a run may take: if it takes more, processes wait for each other."""

FILES_PER_HOST = 4
"""Open files of the engine and of the link emulator together."""


LEAST_CORES = 2
"""A process that becomes busy finds a core of its run free; docs/emulation.md has what two runs on two cores
do to each other."""


def cores(host_count: int) -> int:
    """The cores that a run needs for itself; others may run beside it on those that are left."""
    return max(LEAST_CORES, math.ceil(CORES_PER_HOST * host_count / BUSY_SHARE_OF_CORES))
