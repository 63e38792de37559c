"""The network graph that Shadow reads (GML).

In: a network and its RTT matrix. Out: the text of a complete graph, one node for each host, with rates on the
nodes and one-way latencies on the edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.network.model import Network

AUTHORITY_BYTES_PER_S = 125_000_000
"""Directory authorities are no part of what is studied: their links never bind."""


@dataclass(frozen=True)
class Graph:
    """The text of the graph, and how many pairs of hosts are closer than its least latency."""

    text: str
    floored_pairs: int


def node_rates(network: Network) -> NDArray[np.int64]:
    """(nodes, 2) bytes per second down and up, by node."""
    rates = np.zeros((network.node_count, 2), dtype=np.int64)
    for relay in network.relays:
        rates[relay.node] = relay.capacity_bytes_per_s
    for authority in network.authorities:
        rates[authority.node] = AUTHORITY_BYTES_PER_S
    for client in network.clients:
        rates[client.node] = client.down_bytes_per_s, client.up_bytes_per_s
    for server in network.servers:
        rates[server.node] = server.down_bytes_per_s, server.up_bytes_per_s
    return rates


def write_graph(network: Network, rtt_us: NDArray[np.int32], floor_us: int) -> Graph:
    """The graph of ``network``: each edge's latency is half the RTT, and at least ``floor_us``.

    Rates stand on the nodes: Shadow up to 3.3.0 gives a host whose rates stand in its configuration its
    downstream rate both ways. Attributes stand on lines of their own, as Shadow's parser wants them.

    Raises InputError when a pair of hosts has no latency.
    """
    nodes = network.node_count
    source, target = np.triu_indices(nodes)
    one_way_us = np.asarray(rtt_us)[source, target].astype(np.int64) // 2
    apart = source != target
    if nodes > 1 and one_way_us[apart].min() <= 0:
        missing = int(np.flatnonzero(apart & (one_way_us <= 0))[0])
        raise InputError(
            "a pair of hosts has no latency",
            file="latency.npy",
            key=f"[{source[missing]}, {target[missing]}]",
            value=int(rtt_us[source[missing], target[missing]]),
            accepted="an RTT of at least 2 µs",
        )
    floored = int(np.count_nonzero(one_way_us[apart] < floor_us))
    edges = pl.DataFrame(
        {"source": source, "target": target, "latency": np.maximum(one_way_us, floor_us)}
    ).select(
        pl.format(
            'edge [\nsource {}\ntarget {}\nlatency "{} us"\npacket_loss 0.0\n]', "source", "target", "latency"
        ).str.join("\n")
    )
    hosts = "\n".join(
        f'node [\nid {node}\nhost_bandwidth_down "{down * 8} bit"\nhost_bandwidth_up "{up * 8} bit"\n]'
        for node, (down, up) in enumerate(node_rates(network).tolist())
    )
    return Graph(f"graph [\ndirected 0\n{hosts}\n{edges.item()}\n]\n", floored)
