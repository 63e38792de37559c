"""What the relays of a network carry at most, which of them limit it, and how much of it circuits carry that
are chosen by weight.

In: a network. Out: :class:`MaximumFlow` and :class:`ByWeight`.

A circuit has three different relays, and a relay has one capacity for all the hops that it may be. So each
hop is a source of the rate F, from which flow reaches the positions that may be this hop; a position passes
on the sum of its relays' usable capacities, of each at most F, because no circuit has a relay twice.
Circuits can carry F exactly if 3 F flow: such a flow can be divided into circuits of three different
relays, as a bipartite graph whose nodes have at most F edges has an edge colouring with F colours.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.model import POSITIONS, Network, Position
from torsweep.network.path_chances import PathChances

_SOURCE, _SINK = "clients", "servers"

SHARES_OF_HOPS = (0.1, 0.5)


@dataclass(frozen=True)
class MaximumFlow:
    """The traffic that circuits carry at most, whoever chooses them, and the minimum cut that limits it.

    ``hops`` are those that have no other relays left; ``full`` says how many relays of each position are
    full, which are all that may be one of ``hops``, but for ``on_every_circuit`` of them: these are faster
    than all traffic together. ``full_share`` is the share of usable capacity that the full ones have.
    """

    bytes_per_s: int
    hops: tuple[str, ...]
    full: dict[Position, int]
    full_share: float
    on_every_circuit: int

    @property
    def limit_text(self) -> str:
        """Which relays limit it: ``14 exit and 8 guard_exit relays, all that can be exit, are full``."""
        if not self.full:
            return f"no relay can be {' or '.join(self.hops)}"
        if len(self.hops) == len(HOP_WEIGHTS) and not self.on_every_circuit:
            return f"all {sum(self.full.values())} relays are full"
        *others, last = (f"{count} {position}" for position, count in self.full.items())
        counts = f"{', '.join(others)} and {last}" if others else last
        which = "" if len(self.hops) == len(HOP_WEIGHTS) else f", all that can be {' or '.join(self.hops)},"
        relays = "relay" if sum(self.full.values()) == 1 else "relays"
        full = f"{counts} {relays}{which} {'is' if relays == 'relay' else 'are'} full"
        if not self.on_every_circuit:
            return full
        faster = f"{self.on_every_circuit} relay{'s' if self.on_every_circuit > 1 else ''}"
        return f"{full}; each circuit has {faster} faster than that"


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


def maximum_flow(network: Network) -> MaximumFlow:
    """What circuits over the relays of ``network`` carry at most.

    From a rate that is too high, the minimum cut gives the highest rate that this cut allows, until the
    flow is 3 F (Newton's method, which ends at the exact value, as the capacity of each cut is concave in
    F).
    """
    usable = {position: _usable(network, position) for position in POSITIONS}
    everything = rate = sum(map(sum, usable.values()))
    result = MaximumFlow(rate, tuple(HOP_WEIGHTS), {}, 0.0, 0)
    while True:
        flow, (before_cut, _) = nx.minimum_cut(_graph(usable, rate), _SOURCE, _SINK)
        if flow == len(HOP_WEIGHTS) * rate:
            return result
        hops = tuple(hop for hop in HOP_WEIGHTS if (hop,) in before_cut)
        cut = [position for position in POSITIONS if position in before_cut]
        full = {position: [capacity for capacity in usable[position] if capacity < rate] for position in cut}
        faster = sum(len(usable[position]) - len(full[position]) for position in cut)
        carried = sum(map(sum, full.values()))
        rate = carried // (len(hops) - faster)
        counts = {position: len(relays) for position, relays in full.items() if relays}
        result = MaximumFlow(rate, hops, counts, round(carried / everything, 4), faster)


def _usable(network: Network, position: str) -> list[int]:
    return [relay.usable_bytes_per_s for relay in network.relays if relay.position == position]


def _graph(usable: dict[Position, list[int]], rate: int) -> nx.DiGraph:
    """Clients → hops → positions → servers; an edge without capacity carries anything."""
    graph = nx.DiGraph()
    for hop, positions in HOP_WEIGHTS.items():
        graph.add_edge(_SOURCE, (hop,), capacity=rate)
        graph.add_edges_from(((hop,), position) for position in positions)
    for position, relays in usable.items():
        graph.add_edge(position, _SINK, capacity=sum(min(capacity, rate) for capacity in relays))
    return graph


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
