"""The graph that Shadow reads: complete, with rates on its nodes and floored latencies on its edges."""

from __future__ import annotations

from dataclasses import replace

import networkx
import pytest

from torsweep.engines.shadow.directory import shared_nodes, write_graph
from torsweep.errors import InputError


def _edges(text: str) -> dict[tuple[int, int], int]:
    edges = networkx.parse_gml(text, label="id").edges(data=True)
    assert all(told["packet_loss"] == 0 for _, _, told in edges)
    return {(one, other): int(told["latency"].removesuffix(" us")) for one, other, told in edges}


def test_every_pair_of_hosts_and_every_host_has_one_edge(network, rtt_us):
    edges = _edges(write_graph(network, network.latencies(rtt_us), 5_000)[0])
    nodes = network.node_count
    assert set(edges) == {(a, b) for a in range(nodes) for b in range(a, nodes)}


def test_an_edge_has_half_the_rtt_and_at_least_the_floor(network, rtt_us):
    rtt_us[0, 1] = rtt_us[1, 0] = 3_000
    graph, floored_pairs = write_graph(network, network.latencies(rtt_us), 5_000)
    edges = _edges(graph)
    assert edges[0, 1] == 5_000
    assert edges[0, 2] == 25_000
    assert floored_pairs == 1


def test_rates_stand_on_the_nodes_in_bits_each_way_its_own(network, rtt_us):
    graph = networkx.parse_gml(write_graph(network, network.latencies(rtt_us), 5_000)[0], label="id")
    rates = {"host_bandwidth_down": "6400000 bit", "host_bandwidth_up": "800000 bit"}
    assert rates.items() <= graph.nodes[8].items()
    assert {graph.nodes[1][name] for name in rates} == {"8000008 bit"}


def test_hosts_alike_share_a_node(network, rtt_us):
    """The servers, and two of three clients, are at one place; the third has an access delay of its own."""
    web, late, bulk = network.clients
    alike = {"place": 3}
    late = late.model_copy(update={"access_us": 6_000})
    moved = {
        kind: tuple(host.model_copy(update=alike) for host in hosts)
        for kind, hosts in (("clients", (web, late, bulk)), ("servers", network.servers))
    }
    moved = network.model_copy(update=moved)
    rtt_us[3, 3] = 8_000
    nodes = shared_nodes(moved)
    assert nodes == [[0], [1], [2], [3], [4], [5], [6], [7], [8, 10], [9], [11, 12]]
    text, floored_pairs = write_graph(moved, moved.latencies(rtt_us), 5_000)
    edges = _edges(text)
    assert len(edges) == 11 * 12 // 2
    # Half of 8 ms, which is below the floor, and of 8 ms and an access delay.
    assert edges[8, 8] == edges[10, 10] == edges[8, 10] == 5_000
    assert edges[8, 9] == edges[9, 10] == 7_000
    # Relay 4 is there too: pairs of one relay, two clients and two servers.
    assert floored_pairs == 5 * 4 // 2


def test_a_pair_without_a_latency_is_named(network, rtt_us):
    latencies = replace(network.latencies(rtt_us), floor_us=1)
    rtt_us[2, 5] = rtt_us[5, 2] = 1
    said = r"latency\.npy: relay3 and authority1: a pair of hosts has no latency; accepted: an RTT of at"
    with pytest.raises(InputError, match=said):
        write_graph(network, latencies, 5_000)
