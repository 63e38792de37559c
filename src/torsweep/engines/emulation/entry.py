"""The emulation in the list of engines, and what a network takes in it, as measured (docs/emulation.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.looks import BLACK, SOLID, Look
from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand, Engine, EngineKind
from torsweep.engines.emulation.rights import standing
from torsweep.engines.host_tors import HostTors, find_host_tors
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_files import COSTS_FILE, LINKS_FILE, SETTINGS_FILE
from torsweep.engines.tools import require_own_program
from torsweep.errors import ToolMissing
from torsweep.provenance import program_version


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

TOR_BYTES, TOR_THREADS = 3_000_000, 3
"""Memory and threads of one process of tor under load; the memory is one and a half times that measured under
Shadow."""

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


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds that a run of ``run_s`` takes, its start included."""
    return START_S + START_S_PER_CLIENT * network.client_count + run_s


def demand(network: NetworkConfig) -> Demand:
    """Real tor for relays, authorities and clients, on this kernel and in real time."""
    tors = network.host_count - network.server_count
    return Demand(
        memory_bytes=tors * TOR_BYTES,
        threads=tors * TOR_THREADS,
        open_files=FILES_PER_HOST * network.host_count,
        cores=cores(network.host_count),
    )


EMULATION = "emulation"


def _here() -> str:
    require_linkem()
    rights = standing()
    if rights.way == "neither":
        raise ToolMissing(f"{EMULATION}: {rights.problem}")
    return EMULATION


ENGINE = Engine(
    name=EMULATION,
    command="torsweep emulation",
    here=_here,
    versions=lambda: [f"linkem {program_version(require_linkem())}"],
    run_seconds=run_seconds,
    demand=demand,
    kinds={EMULATION: EngineKind("runs tor in real time", Look(BLACK, SOLID, "v"))},
    files=(COSTS_FILE, LINKS_FILE, SETTINGS_FILE),
    real_time=True,
    note="Real tor on a real kernel. Runs take real time, and cores for themselves.",
    trial=lambda: f"hosts are made by {standing().way}",
)
