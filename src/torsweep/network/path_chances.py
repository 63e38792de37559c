"""How often circuits that are chosen by tor's weights contain each relay, and when relays are full on them.

In: a network. Out: :class:`PathChances`: the chance that a relay is the guard, the middle or the exit of a
circuit; :class:`ByWeight`: how much traffic such circuits carry before relays are full.

The exit is drawn first, then the guard, then the middle, each by consensus weight times bandwidth-weight
among the relays that the circuit does not have yet (path-spec §2.2). A client keeps its guards, so that
these are chances over many clients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.exact import Floats
from torsweep.network.model import Network


@dataclass(frozen=True)
class PathChances:
    """``guard``, ``middle`` and ``exit`` (relays,) are the chances that a circuit has the relay there.

    They are those of circuits that have all three relays: where a guard and an exit leave no middle, there is
    no circuit.
    """

    guard: Floats
    middle: Floats
    exit: Floats

    @property
    def per_circuit(self) -> Floats:
        """How many hops of a circuit are the relay on average, (relays,)."""
        return np.add(np.add(self.guard, self.middle), self.exit)


def path_chances(network: Network) -> PathChances | None:
    """The chances of the network's relays; None where the weights leave no circuit."""
    guard, middle, exit_ = (_weights(network, hop) for hop in HOP_WEIGHTS)
    exits, guards = np.flatnonzero(exit_), np.flatnonzero(guard)
    pairs = np.zeros((len(exits), len(guards)))
    other_guards = (guard.sum() - guard[exits])[:, None]
    left = middle.sum() - middle[exits][:, None] - middle[guards]
    possible = (other_guards > 0) & (exits[:, None] != guards) & (left > 0)
    if not possible.any():
        return None
    drawn = exit_[exits][:, None] * guard[guards]
    np.divide(drawn, other_guards, out=pairs, where=possible)
    pairs /= pairs.sum()
    at_guard, at_exit = np.zeros_like(guard), np.zeros_like(guard)
    at_guard[guards], at_exit[exits] = pairs.sum(axis=0), pairs.sum(axis=1)
    np.divide(pairs, left, out=pairs, where=possible)
    of_relay = np.zeros_like(guard)
    of_relay[exits] += pairs.sum(axis=1)
    of_relay[guards] += pairs.sum(axis=0)
    beside = pairs.sum() - of_relay
    return PathChances(at_guard, middle * np.maximum(beside, 0), at_exit)


def _weights(network: Network, hop: str) -> Floats:
    """What each relay's weight counts at ``hop``, (relays,): whole numbers, so that sums are exact."""
    share_of = {position: network.bandwidth_weights[name] for position, name in HOP_WEIGHTS[hop].items()}
    weights = [relay.consensus_weight * share_of.get(relay.position, 0) for relay in network.relays]
    return np.array(weights, dtype=np.float64)


SHARES_OF_HOPS = (0.1, 0.5)


@dataclass(frozen=True)
class ByWeight:
    """The traffic at which, on circuits that clients choose by weight, relays are full.

    The first of all relays is ``relay``; ``shares`` has the traffic at which full relays are as large a
    share of all hops, by :data:`SHARES_OF_HOPS`.
    """

    first_bytes_per_s: int
    relay: str
    position: str
    shares: dict[float, int]


def by_weight(network: Network, chances: PathChances) -> ByWeight:
    """At what traffic the relays of ``network`` are full on circuits of these ``chances``."""
    per_circuit = chances.per_circuit
    chosen = np.flatnonzero(per_circuit)
    usable = np.array([network.relays[number].usable_bytes_per_s for number in chosen])
    full_at = usable / per_circuit[chosen]
    order = np.argsort(full_at, kind="stable")
    share = np.cumsum(per_circuit[chosen][order]) / per_circuit.sum()
    # A level of 1 may be missed by a rounding error at the end.
    at = {level: order[np.searchsorted(share, level * (1 - 1e-9))] for level in SHARES_OF_HOPS}
    first = network.relays[chosen[order[0]]]
    shares = {level: round(full_at[place]) for level, place in at.items()}
    return ByWeight(round(full_at[order[0]]), first.name, first.position, shares)
