"""A network as small as a test wants it, all of whose numbers are known.

In: positions of relays, names of clients, how many authorities and servers. Out: a :class:`Network` each of
whose hosts is at a place of its own, by its number, and RTTs between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.model import Authority, Client, Network, Position, Relay, Server

CLIENT_RATES = {"down_bytes_per_s": 800_000, "up_bytes_per_s": 100_000}
SERVER_RATES = {"down_bytes_per_s": 10**7, "up_bytes_per_s": 10**7}
RTT_US = 50_000


def small_relay(number: int, position: Position, **changes: object) -> Relay:
    """Relay ``number`` (from 0) at place ``number``; capacity and weight tell it from others."""
    fields = {
        "name": f"relay{number + 1}",
        "place": number,
        "access_us": 0,
        "position": position,
        "rate_bytes_per_s": 100_000,
        "burst_bytes": 200_000,
        "capacity_bytes_per_s": 1_000_000 + number,
        "consensus_weight": 100 + number,
        "refill_phase": 0.25,
        "rate_floored": False,
    }
    return Relay.model_validate(fields | changes)


def small_network(
    positions: Sequence[Position],
    clients: Sequence[str],
    *,
    shared: bool = False,
    authorities: int = 1,
    servers: int = 1,
    config: dict[str, Any] | None = None,
    **changes: object,
) -> Network:
    """A network of seed 7; ``clients`` are names such as ``web2``, and ``changes`` apply to each relay.

    With ``shared`` all clients use the tor of the first.
    """
    first_client = len(positions) + authorities
    first_server = first_client + len(clients)
    return Network(
        config=config or {},
        config_sha256="0" * 64,
        inputs_sha256={},
        seed=7,
        bandwidth_weights=dict.fromkeys(WEIGHTS_OF_HOPS, 10_000),
        latency_floor_us=2_000,
        relays=tuple(small_relay(number, position, **changes) for number, position in enumerate(positions)),
        authorities=tuple(
            Authority(name=f"authority{n + 1}", place=len(positions) + n, access_us=0)
            for n in range(authorities)
        ),
        clients=tuple(
            Client.model_validate(
                {
                    "name": name,
                    "place": first_client + n,
                    "access_us": 0,
                    "kind": name.rstrip("0123456789"),
                    **({"tor": clients[0]} if shared and n else {}),
                    **CLIENT_RATES,
                }
            )
            for n, name in enumerate(clients)
        ),
        servers=tuple(
            Server(name=f"server{n + 1}", place=first_server + n, access_us=0, **SERVER_RATES)
            for n in range(servers)
        ),
    )


def equal_rtts(network: Network) -> NDArray[np.int32]:
    """:data:`RTT_US` between any two places, shape (places, places)."""
    return np.full((network.node_count, network.node_count), RTT_US, dtype=np.int32)
