"""Networks whose links lose packets differ in nothing else, and all engines are told of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_network import equal_rtts, small_network
from torsweep.config.network import NetworkConfig
from torsweep.engines.emulation.directory import links_document
from torsweep.engines.emulation.tcp import TCP
from torsweep.engines.shadow.directory import write_graph
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE, read_network, write_network
from torsweep.network.sampling import SampledNetwork, sample_network


def test_only_loss_differs_between_its_levels(
    configured: Callable[..., NetworkConfig], sampled: SampledNetwork
) -> None:
    lossy = sample_network(configured(loss={"share": 0.01}), 1)
    assert lossy.network.loss_share == 0.01
    changed = {"config", "config_sha256", "loss_share"}
    assert lossy.network.model_dump(exclude=changed) == sampled.network.model_dump(exclude=changed)
    assert (lossy.matrix_us == sampled.matrix_us).all()


def test_a_network_without_loss_says_nothing_of_it(configured: Callable[..., NetworkConfig]) -> None:
    none = sample_network(configured(loss={"share": 0}), 1).network
    assert none == sample_network(configured(), 1).network
    assert not {"loss", "loss_share"} & (none.model_dump().keys() | none.config.keys())


def test_a_share_out_of_range_is_refused(tmp_path: Path, sampled: SampledNetwork) -> None:
    write_network(sampled.network, sampled.matrix_us, tmp_path / "network")
    file = tmp_path / "network" / NETWORK_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "loss_share": 0.3}))
    with pytest.raises(InputError, match=r"loss_share: is not accepted, got 0\.3; accepted: 0\.2 or less"):
        read_network(tmp_path / "network")


def test_shadow_and_linkem_are_told_of_it() -> None:
    network = small_network(["guard", "middle", "exit"], ["web1"])
    for share, text in ((0.0, "0.0"), (0.01, "0.01"), (1e-05, "0.00001")):
        lossy = network.model_copy(update={"loss_share": share})
        graph = write_graph(lossy, network.latencies(equal_rtts(network)), 1_000)[0]
        assert graph.count(f"\npacket_loss {text}\n") == graph.count("edge [") > 0
        tcp = TCP["today"]
        assert links_document(lossy, Path("l.npy"), tcp, {}, 1, Path("s.parquet"))["loss"] == share
