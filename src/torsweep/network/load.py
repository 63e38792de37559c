"""What clients ask of a network, against what its relays can carry.

In: a network, the round trip of its clients to servers, and what its clients do. Out: :class:`Offered` for
each kind of client; and how long a download takes where nobody else is.

A client that pauses asks for at most a response a pause, as if downloads took no time. One that never pauses
always asks for more: it counts with what it would fetch if it were alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from torsweep.config.knobs import CELL_PAYLOAD_BYTES
from torsweep.config.traffic import PERF, PERF_TRAFFIC, AnyKind, ClientTraffic, Traffic
from torsweep.network.model import Client, Network

HOPS = 3

_STREAM_WINDOW_CELLS = 500
_ROUND_TRIPS_BEFORE_DATA = 2
"""Opening the stream, then the request."""


@dataclass(frozen=True)
class Offered:
    """What the clients of a kind ask for, in bytes/s, and over what relays can carry over three hops.

    ``pauses``: whether they pause between downloads.
    """

    bytes_per_s: int
    over_third: float
    pauses: bool


def usable_third(network: Network) -> int:
    """Bytes/s that the relays can carry over three hops."""
    return sum(relay.usable_bytes_per_s for relay in network.relays) // HOPS


def offered_load(network: Network, round_trip_s: float, traffic: Traffic) -> dict[str, Offered]:
    """What each kind of client that the network has asks for: ``web``, ``bulk`` and ``perf``."""
    third, found = usable_third(network), {}
    asked: dict[str, dict[AnyKind, ClientTraffic]] = {
        **{kind: {kind: does} for kind, does in traffic.kinds.items()},
        PERF: {kind: does for kind, does in PERF_TRAFFIC.items()},
    }
    for name, kinds in asked.items():
        rates = [_asked_for(network, kind, does, round_trip_s) for kind, does in kinds.items()]
        if rate := sum(rates):
            pauses = all(does.think.mean_s > 0 for does in kinds.values())
            found[name] = Offered(round(rate), round(rate / third, 3), pauses)
    return found


def _asked_for(network: Network, kind: AnyKind, does: ClientTraffic, round_trip_s: float) -> float:
    clients = network.clients_of(kind)
    if not clients:
        return 0.0
    seconds = does.think.mean_s or unloaded_download_s(clients, round_trip_s, does.mean_response)
    return len(clients) * asked_at_once(does) / seconds


def asked_at_once(does: ClientTraffic) -> float:
    """Mean bytes that a client asks for between two pauses; the objects of a page are in its response."""
    return does.mean_response * (1 if does.page is not None else does.parallel)


def unloaded_download_s(clients: Sequence[Client], round_trip_s: float, response_bytes: int) -> float:
    """A download's time where nobody else is: round trips, then the response at the slower of the median
    client's link and a full stream window (500 cells) a round trip."""
    window = _STREAM_WINDOW_CELLS * CELL_PAYLOAD_BYTES / round_trip_s
    down = float(np.median([client.down_bytes_per_s for client in clients]))
    return _ROUND_TRIPS_BEFORE_DATA * round_trip_s + response_bytes / min(window, down)


def load_text(load: Mapping[str, Offered]) -> str:
    """``web 2.05, bulk 2.04``."""
    return ", ".join(f"{kind} {offered.over_third:.2f}" for kind, offered in load.items())
