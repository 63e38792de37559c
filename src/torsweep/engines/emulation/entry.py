"""The emulation in the list of engines, and what a network takes in it, as measured (docs/emulation.md)."""

from __future__ import annotations

from torsweep.config.knob import BLACK, SOLID, Mark
from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand, Engine, EngineKind, tor_working_bytes
from torsweep.engines.emulation.rights import (
    FILES_PER_HOST,
    START_S,
    START_S_PER_CLIENT,
    cores,
    host_rights,
    require_linkem,
)
from torsweep.provenance import program_version

TOR_BYTES, TOR_THREADS = 3_000_000, 3
"""Memory (one and a half times that measured under Shadow) and threads of one process of tor under load."""


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds that a run of ``run_s`` takes, its start included."""
    return START_S + START_S_PER_CLIENT * network.client_count + run_s


def demand(network: NetworkConfig) -> Demand:
    """Real tor for relays, authorities and clients, on this kernel and in real time."""
    tors = network.host_count - network.server_count
    return Demand(
        memory_bytes=tors * TOR_BYTES,
        disk_bytes=tor_working_bytes(tors, network.relay_count),
        threads=tors * TOR_THREADS,
        open_files=FILES_PER_HOST * network.host_count,
        cores=cores(network.host_count),
    )


EMULATION = "emulation"


def _here() -> str:
    require_linkem()
    host_rights()
    return EMULATION


ENGINE = Engine(
    name=EMULATION,
    command="torsweep emulation",
    here=_here,
    versions=lambda: [f"linkem {program_version(require_linkem())}"],
    run_seconds=run_seconds,
    demand=demand,
    kinds={EMULATION: EngineKind("runs tor in real time", Mark(BLACK, SOLID, "v"))},
    real_time=True,
    note="Real tor on a real kernel. Runs take real time, and cores for themselves.",
    trial=lambda: f"hosts are made by {host_rights()}",
)
