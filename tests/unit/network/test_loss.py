"""Networks whose links lose packets say so, and all engines are told of it."""

from __future__ import annotations

from pathlib import Path

import networkx

from tests.small_network import equal_rtts, small_network
from torsweep.engines.emulation.process_layout import links_document
from torsweep.engines.emulation.tcp import TCP
from torsweep.engines.shadow.directory import write_graph
from torsweep.network.sampling import sample_network


def test_a_network_states_its_loss_and_one_without_says_nothing_of_it(configured, sampled):
    assert sample_network(configured(loss={"share": 0.01}), 1).network.loss_share == 0.01
    none = sample_network(configured(loss={"share": 0}), 1).network
    assert none == sampled.network
    assert not {"loss", "loss_share"} & (none.model_dump().keys() | none.config.keys())


def test_shadow_and_linkem_are_told_of_it():
    network = small_network(["guard", "middle", "exit"], ["web1"])
    for share in (0.0, 0.01, 1e-05):
        lossy = network.model_copy(update={"loss_share": share})
        graph = write_graph(lossy, network.latencies(equal_rtts(network)), 1_000)[0]
        edges = networkx.parse_gml(graph, label="id").edges(data="packet_loss")
        assert {loss for _, _, loss in edges} == {share}
        tcp = TCP["today"]
        assert links_document(lossy, Path("l.npy"), tcp, {}, 1, Path("s.parquet"))["loss"] == share
