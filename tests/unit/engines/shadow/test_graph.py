"""The graph that Shadow reads: complete, with rates on its nodes and floored latencies on its edges."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from torsweep.engines.shadow.directory import write_graph
from torsweep.errors import InputError
from torsweep.network.model import Network


def _edges(text: str) -> dict[tuple[int, int], int]:
    found = re.findall(r'edge \[\nsource (\d+)\ntarget (\d+)\nlatency "(\d+) us"\npacket_loss 0.0\n\]', text)
    return {(int(source), int(target)): int(latency) for source, target, latency in found}


def test_every_pair_of_hosts_and_every_host_has_one_edge(network: Network, rtt_us: NDArray[np.int32]) -> None:
    edges = _edges(write_graph(network, rtt_us, 5_000)[0])
    nodes = network.node_count
    assert set(edges) == {(a, b) for a in range(nodes) for b in range(a, nodes)}


def test_an_edge_has_half_the_rtt_and_at_least_the_floor(network: Network, rtt_us: NDArray[np.int32]) -> None:
    rtt_us[0, 1] = rtt_us[1, 0] = 3_000
    graph, floored_pairs = write_graph(network, rtt_us, 5_000)
    edges = _edges(graph)
    assert edges[0, 1] == 5_000
    assert edges[0, 2] == 25_000
    assert floored_pairs == 1


def test_rates_stand_on_the_nodes_in_bits_each_way_its_own(
    network: Network, rtt_us: NDArray[np.int32]
) -> None:
    text = write_graph(network, rtt_us, 5_000)[0]
    assert 'id 8\nhost_bandwidth_down "6400000 bit"\nhost_bandwidth_up "800000 bit"\n' in text
    assert 'id 1\nhost_bandwidth_down "8000008 bit"\nhost_bandwidth_up "8000008 bit"\n' in text


def test_a_pair_without_a_latency_is_named(network: Network, rtt_us: NDArray[np.int32]) -> None:
    rtt_us[2, 5] = rtt_us[5, 2] = 0
    with pytest.raises(InputError, match=r"latency\.npy: \[2, 5\]: a pair of hosts has no latency, got 0"):
        write_graph(network, rtt_us, 5_000)
