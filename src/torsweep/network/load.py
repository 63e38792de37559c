"""What clients ask of a network, against what its relays can carry.

In: a network, the round trip of its clients to servers, and what its clients do. Out: :class:`Offered` for
each kind of client, and what relays write to give them all of it; and how long a download takes on an empty
network.

A client that pauses asks for at most one response per pause, as if downloads took no time. One that never
pauses always asks for more: it counts with what it would fetch if it were alone.

:class:`PathChances` are the chances that a relay is the guard, the middle or the exit of a circuit, and
:class:`ByWeight` how much traffic such circuits carry before relays are full. The exit is drawn first, then
the guard, then the middle, each by consensus weight times bandwidth-weight among the relays that the circuit
does not have yet (path-spec §2.2). A client keeps its guards, so that these are chances over many clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from torsweep.config.traffic import CLIENT_GROUPS, ONION, AnyKind, ClientTraffic, Traffic
from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.exact import Floats
from torsweep.network.model import Client, Network

HOPS = 3

RELAY_BYTES_PER_CLIENT_BYTE = 3.3
"""What relays write for each byte of payload that clients receive: cells of 514 bytes with 498 of payload,
over three hops, their TLS records, and cells the other way; 3.30 to 3.35 in three engines
(docs/tables/measures_engines.csv)."""

_STREAM_WINDOW_CELLS = 500
_ROUND_TRIPS_BEFORE_DATA = 2
"""Opening the stream, then the request."""


@dataclass(frozen=True)
class Offered:
    """The demand of a kind of client, in bytes/s and as a share of what relays can carry over three hops.

    ``pauses``: whether they pause between downloads. ``clients``: how many they are, and what each ``does``.
    """

    bytes_per_s: int
    over_third: float
    pauses: bool
    clients: int
    does: str


def usable_third(network: Network) -> int:
    """Bytes/s that the relays can carry over three hops."""
    return sum(relay.usable_bytes_per_s for relay in network.relays) // HOPS


def offered_load(network: Network, round_trip_s: float, traffic: Traffic) -> dict[str, Offered]:
    """The demand of each group of clients in the network, by name."""
    third, load = usable_third(network), {}
    for name, group in CLIENT_GROUPS.items():
        kinds = group.traffic(traffic)
        rates = [_requested(network, kind, does, round_trip_s) for kind, does in kinds.items()]
        if rate := sum(rates):
            pauses = all(does.think.mean_s > 0 for does in kinds.values())
            clients = sum(len(network.clients_of(kind)) for kind in kinds)
            load[name] = Offered(
                round(rate), round(rate / third, 3), pauses, clients, _does([*kinds.values()])
            )
    return load


def _does(kinds: Sequence[ClientTraffic]) -> str:
    if len(kinds) > 1:
        return f"a download of {len(kinds)} sizes in turn"
    (does,) = kinds
    pause = f"and a pause of {does.think.mean_s:g} s" if does.think.mean_s else "without pauses"
    return f"{asked_at_once(does) / 1024:,.0f} KiB {pause}"


def written_text(load: Mapping[str, Offered], usable_bytes_per_s: int) -> str:
    """What a client of each kind asks for, and what relays write to give all of them all of it."""
    if not load:
        return "no client asks for anything"
    each = ", ".join(
        f"a {kind} client asks for {offered.bytes_per_s / offered.clients / 1000:.1f} KB/s ({offered.does})"
        for kind, offered in load.items()
    )
    # The way to an onion service has twice as many relays.
    written = RELAY_BYTES_PER_CLIENT_BYTE * sum(
        offered.bytes_per_s * (2 if kind == ONION else 1) for kind, offered in load.items()
    )
    return (
        f"{each}; to give all clients all of it, relays would write {written * 8 / 1e9:.3g} Gbit/s, "
        f"{written / usable_bytes_per_s:.2f} of what they can"
    )


def _requested(network: Network, kind: AnyKind, does: ClientTraffic, round_trip_s: float) -> float:
    clients = network.clients_of(kind)
    if not clients:
        return 0.0
    seconds = does.think.mean_s or unloaded_download_s(clients, round_trip_s, does.mean_response)
    return len(clients) * asked_at_once(does) / seconds


def asked_at_once(does: ClientTraffic) -> float:
    """Mean bytes that a client asks for between two pauses; the objects of a page are in its response."""
    return does.mean_response * (1 if does.has_pages else does.parallel)


def unloaded_download_s(clients: Sequence[Client], round_trip_s: float, response_bytes: int) -> float:
    """A download's time where nobody else is: round trips, then the response at the slower of the median
    client's link and a full stream window (500 cells) a round trip."""
    window = _STREAM_WINDOW_CELLS * CELL_PAYLOAD_BYTES / round_trip_s
    down = float(np.median([client.down_bytes_per_s for client in clients]))
    return _ROUND_TRIPS_BEFORE_DATA * round_trip_s + response_bytes / min(window, down)


def load_text(load: Mapping[str, Offered]) -> str:
    """``web 2.05, bulk 2.04``."""
    return ", ".join(f"{kind} {offered.over_third:.2f}" for kind, offered in load.items())


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
    """The traffic at which the relays of ``network`` are full on circuits of these ``chances``."""
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
