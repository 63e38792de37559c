"""Relays of given rates, one in each position: the network of a report on a single circuit.

In: a :class:`~torsweep.config.network.Chain`, a seed. Out: the three relays, and the path through them
that every circuit takes.
"""

from __future__ import annotations

from torsweep.config.network import CHAIN_POSITIONS, Chain
from torsweep.network.model import Network, Relay
from torsweep.seeds import stream

_CONSENSUS_WEIGHT = 1_000
"""The same for each relay: with only one path, clients do not choose by weight."""


def chain_relays(chain: Chain, seed: int) -> tuple[Relay, ...]:
    """Guard, middle and exit, nodes 0 to 2; phases are those of the first relays of any network."""
    phases = stream(seed, "relays", "refill_phase").random(len(CHAIN_POSITIONS))
    return tuple(
        Relay(
            name=f"relay{number + 1}",
            node=number,
            position=position,
            rate_bytes_per_s=getattr(chain, position),
            burst_bytes=getattr(chain, position),
            capacity_bytes_per_s=chain.link,
            consensus_weight=_CONSENSUS_WEIGHT,
            refill_phase=int(phase * 1_000_000) / 1_000_000,
            rate_floored=False,
        )
        for number, (position, phase) in enumerate(zip(CHAIN_POSITIONS, phases, strict=True))
    )


def given_paths(network: Network) -> dict[str, tuple[tuple[str, str, str], ...]] | None:
    """For each client the only path there is; None where circuits are chosen by weight."""
    if network.config.get("chain") is None:
        return None
    guard, middle, exit_ = (relay.name for relay in network.relays)
    return {client.name: ((guard, middle, exit_),) for client in network.clients}
