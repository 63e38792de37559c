"""What clients ask of a network, against what its relays can carry.

In: a network, the round trip of its clients to servers, and what its clients do. Out: :class:`Offered` for
each kind of client, and what relays write to give them all of it; and how long a download takes on an empty
network.

A client that pauses asks for at most one response per pause, as if downloads took no time. One that never
pauses always asks for more: it counts with what it would fetch if it were alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from torsweep.config.traffic import CLIENT_GROUPS, ONION, AnyKind, ClientTraffic, Traffic
from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
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

    ``pauses``: whether they pause between downloads.
    """

    bytes_per_s: int
    over_third: float
    pauses: bool


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
            load[name] = Offered(round(rate), round(rate / third, 3), pauses)
    return load


def written_text(load: Mapping[str, Offered], usable_bytes_per_s: int) -> str:
    """What relays write to give all clients all that they ask for."""
    if not load:
        return "no client asks for anything"
    # The way to an onion service has twice as many relays.
    written = RELAY_BYTES_PER_CLIENT_BYTE * sum(
        offered.bytes_per_s * (2 if kind == ONION else 1) for kind, offered in load.items()
    )
    return (
        f"to give all clients all of it, relays would write {written * 8 / 1e9:.3g} Gbit/s, "
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
