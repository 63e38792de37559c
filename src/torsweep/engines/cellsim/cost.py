"""What a network takes in cellsim, of time and of memory.

In: a network's configuration. Out: seconds, and a :class:`~torsweep.engines.contract.Demand`. Both were
measured on the network ``paper`` and at ten times its size (bench/results/speed.json).
"""

from __future__ import annotations

from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import Demand

S_PER_HOST_SECOND = 1.4e-5
"""bench/results/speed.json: 8 s for 480 s of 1,253 hosts."""

PROGRAM_BYTES, BYTES_PER_HOST, LATENCY_BYTES_PER_PAIR = 7_000_000, 13_000, 4


def run_seconds(network: NetworkConfig, run_s: float) -> float:
    """Seconds of one core that a run of ``run_s`` simulated seconds takes."""
    return S_PER_HOST_SECOND * network.host_count * run_s


def demand(network: NetworkConfig) -> Demand:
    """One process, which holds every host and the latency of every pair of them."""
    hosts = network.host_count
    return Demand(PROGRAM_BYTES + hosts * BYTES_PER_HOST + hosts**2 * LATENCY_BYTES_PER_PAIR)
