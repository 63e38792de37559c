"""Shadow in the list of engines, under its two names, and what a network takes in it.

Files, threads and shared memory were measured on 20 and 120 TGen processes and on 266 tor, 263 OnionTrace and
250 TGen ones under Shadow 3.3.0.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping

from torsweep.config.knob import DOTTED, LONG_DASHED, ORANGE, SKY, Mark
from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand, Engine, EngineKind, tor_working_bytes
from torsweep.engines.draws import MOST_DOWNLOADS
from torsweep.engines.shadow.simulate import HOST_BYTES, PROGRAM_BYTES, SHADOW_BYTES
from torsweep.engines.shadow.tools import MEASURING, NOT_MEASURING, RoundTrips, round_trips
from torsweep.engines.tools import TOOL_KINDS, require_tool

SHADOW_S_PER_RELAY_SECOND = 0.13
"""From docs/tables/shadow_cost.csv: 0.10 to 0.16 CPU s, the start included, for each relay and second of
clients, in networks of 14 busy relays with 69 clients, 13 with 250 and 50 with 1,000."""

RATES, RATE_OF_2024 = {"2012": 1, "2019": 8}, 14
"""Rates of a population's relays, by its name, beside those of 2012: the relays above were of 2012, or of
2024 with a 14th of their rates. The cost goes with the bytes: 100 relays of 2024 with a 60th took
320 CPU s for 90 s of clients."""

SHADOW_FILES = 12
OPEN_FILES = {"tor": 6, "tgen": 5, "oniontrace": 5}
"""Files open in Shadow's own process: by itself, and for each process of a program."""

THREADS = {"tor": 3, "tgen": 1, "oniontrace": 1}
"""Threads of one process of each program: the kernel's limits count threads."""

SHARED_BYTES_PER_PROCESS = 12_300
"""Shared memory through which Shadow talks to one process."""


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds of one core that a run takes that has clients for ``run_s`` simulated seconds."""
    rate = RATES.get(network.relay_population.name or "", RATE_OF_2024) / network.relay_rate_divisor
    busy = network.relay_count * rate
    return SHADOW_S_PER_RELAY_SECOND * busy * run_s


def demand(network: NetworkConfig) -> Demand:
    """Real tor, TGen and OnionTrace for every host that has them, under Shadow."""
    counts = {
        "tor": network.host_count - network.server_count,
        "tgen": network.client_tor_count + network.server_count,
        "oniontrace": network.relay_count + network.client_tor_count,
    }

    def of_all(each: Mapping[str, int]) -> int:
        return sum(count * each[program] for program, count in counts.items())

    return Demand(
        memory_bytes=SHADOW_BYTES + HOST_BYTES * network.host_count + of_all(PROGRAM_BYTES),
        disk_bytes=tor_working_bytes(counts["tor"], network.relay_count),
        shared_memory_bytes=sum(counts.values()) * SHARED_BYTES_PER_PROCESS,
        threads=of_all(THREADS),
        open_files=SHADOW_FILES + of_all(OPEN_FILES),
    )


OLDEST_KERNEL = (5, 10)
"""The oldest Linux kernel in the list of supported platforms of Shadow's guide."""


def _round_trips() -> RoundTrips:
    return round_trips(require_tool("shadow").path)


def _unsupported() -> list[str]:
    guide = TOOL_KINDS["shadow"].guide
    architecture, kernel = platform.machine(), platform.release()
    reasons = []
    if architecture != "x86_64":
        reasons.append(f"shadow: runs on x86_64, this is {architecture}: {guide}")
    version = re.match(r"(\d+)\.(\d+)", kernel)
    if version and (int(version[1]), int(version[2])) < OLDEST_KERNEL:
        reasons.append(f"shadow: needs Linux 5.10 or later, this is {kernel}: {guide}")
    return reasons


ENGINE = Engine(
    name="shadow",
    command="torsweep shadow",
    here=lambda: _round_trips().engine,
    unsupported=_unsupported,
    versions=list,
    run_seconds=run_seconds,
    demand=demand,
    kinds={
        MEASURING: EngineKind("measures round trips", Mark(SKY, LONG_DASHED, "D"), has_nagle=False),
        NOT_MEASURING: EngineKind("measures no round trips", Mark(ORANGE, DOTTED, "P"), has_nagle=False),
    },
    tools=("shadow", "tgen", "oniontrace"),
    other_kind="TORSWEEP_SHADOW can name another; see patches/shadow/README.md",
    takes_threads=True,
    takes_tornettools=True,
    pages_repeat_after=MOST_DOWNLOADS,
    caution="Real tor on Shadow's own TCP. On a real kernel (engine emulation) times may differ.",
    trial=lambda: _round_trips().text,
)
