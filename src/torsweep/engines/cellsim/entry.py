"""cellsim in the list of engines: the program, and how much time and memory a network takes in it.

In: PATH, a network's configuration. Out: :data:`ENGINE`. Time and memory were measured on the network
``paper`` and at ten times its size (bench/results/speed.json).
"""

from __future__ import annotations

from torsweep.config.knob import USUAL
from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand, Engine, EngineKind
from torsweep.engines.tools import find_own_program, require_own_program
from torsweep.provenance import program_version

MODEL_S_PER_HOST_SECOND = 1.4e-5
"""bench/results/speed.json: 8 s for 480 s of 1,253 hosts."""

WHOLE_S_PER_HOST_SECOND = 2e-4
"""On a network with the relays and the load of the public one, whose clients get twenty times as much: some
130 cell-hops a second for each host."""

PREPARE_S = 1.7
"""Before the model starts, torsweep prepares the run: 24 runs of `laptop` took 13.8 s each on two cores, the
model in them 12.1 s. Of a short run on a small network this is most."""

CELLSIM_BYTES, BYTES_PER_HOST = 9_000_000, 26_000
"""The program's 7 MB are with the round trips of 717 places. A host with its connections, circuits and
downloads took 13 KB after 30 s (`live` at a scale of 0.1), and 25 KB after 8 min (`paper`, 100 ms, EWMA,
today), the longest of the runs that ship."""


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds of one core that a run of ``run_s`` simulated seconds takes, its preparation included."""
    whole = network.relay_population.use == "whole"
    pace = WHOLE_S_PER_HOST_SECOND if whole else MODEL_S_PER_HOST_SECOND
    return PREPARE_S + pace * network.host_count * run_s


def demand(network: NetworkConfig) -> Demand:
    """One process, which holds every host."""
    return Demand(CELLSIM_BYTES + network.host_count * BYTES_PER_HOST)


CELLSIM = "cellsim"


def _here() -> str:
    require_own_program(CELLSIM)
    return CELLSIM


def _version() -> str:
    """The output of ``cellsim --version``; empty if the program is missing or silent."""
    program = find_own_program(CELLSIM)
    return (program_version(program) if program else None) or ""


def kept_bytes(network: NetworkConfig) -> int:
    """What a run keeps for each host and second: 3 to 10 on networks of 130 to 190 hosts, and 20 with the
    load of the whole of today's Tor; its tables half as much again."""
    return 30 if network.relay_population.use == "whole" else 12


ENGINE = Engine(
    name=CELLSIM,
    command=CELLSIM,
    here=_here,
    versions=lambda: [_version()],
    run_seconds=run_seconds,
    demand=demand,
    kept_bytes=kept_bytes,
    kinds={CELLSIM: EngineKind("models tor", USUAL)},
    runs_tor=False,
    caution="These are a model's results. The times of real tor may differ.",
)
