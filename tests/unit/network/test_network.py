"""The network directory: the same bytes, read back, refused when damaged; and its description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from torsweep.cli import network_app
from torsweep.config.experiment import load_experiment
from torsweep.config.network import NetworkConfig
from torsweep.errors import InputError
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.describe import describe
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, read_network, write_network
from torsweep.network.sampling import SampledNetwork, sample_network, tor_hosts
from torsweep.units import MOST_RTT_US

CONFIG = """\
relays: 10
web_clients: 40
bulk_clients: 4
servers: 8
"""

TRAFFIC = load_experiment("refill_sweep").traffic

Change = Callable[[dict[str, Any]], object]
"""What is done to the document of a network."""

GOLDEN = {
    NETWORK_FILE: "d36135c9899d535440b34f7ff322aeea77dcbcc40f6993455a94541702acc9e7",
    LATENCY_FILE: "494667513d191679f406c9e54bc368585f3c6951d910ebdc6918c97f1726e6ed",
}


@pytest.fixture
def directory(tmp_path: Path, sampled: SampledNetwork) -> Path:
    write_network(sampled.network, sampled.matrix_us, tmp_path / "network")
    return tmp_path / "network"


def test_a_seed_gives_the_same_bytes_on_every_machine(directory):
    for name, digest in GOLDEN.items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest, name


def test_onion_services_change_no_other_host(configured):
    plain = sample_network(configured(), 1).network
    onions = sample_network(configured(onion_clients=3, onion_servers=2), 1).network
    assert onions.relays == plain.relays
    assert onions.clients[: len(plain.clients)] == plain.clients
    assert [client.name for client in onions.clients_of("onion")] == ["onion1", "onion2", "onion3"]
    assert [server.name for server in onions.servers_for("onion")] == ["server1", "server2"]
    assert [server.model_copy(update={"onion": False}) for server in onions.servers] == list(plain.servers)
    assert onions.servers_for("web") == onions.servers
    assert not plain.servers_for("onion")


def test_a_network_is_read_as_it_was_written(directory, sampled):
    network, latencies = read_network(directory)
    latency_sha256 = hashlib.sha256((directory / LATENCY_FILE).read_bytes()).hexdigest()
    assert network == sampled.network.model_copy(update={"latency_sha256": latency_sha256})
    assert (latencies.matrix_us == sampled.matrix_us).all()
    assert latencies.place.tolist() == [host.place for host in network.hosts]
    assert latencies.access_us.tolist() == [host.access_us for host in network.hosts]
    assert latencies.floor_us == network.latency_floor_us


def test_one_flipped_bit_in_the_latencies_is_seen(directory):
    file = directory / LATENCY_FILE
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"latency\.npy: has changed"):
        read_network(directory)


@pytest.mark.parametrize(
    ("rtt_us", "back_us", "said"),
    [
        (-1, -1, "two places have no round trip, got -1; accepted: 1 to"),
        (0, 0, "two places have no round trip, got 0; accepted: 1 to"),
        (1, 1, ""),
        (MOST_RTT_US, MOST_RTT_US, ""),
        (MOST_RTT_US + 1, MOST_RTT_US + 1, f"two places have no round trip, got {MOST_RTT_US + 1}; accepted"),
        (5_000, 5_001, "two places have another round trip the other way"),
    ],
)
def test_rtts_are_in_range_and_the_same_both_ways(tmp_path, sampled, rtt_us, back_us, said):
    matrix = sampled.matrix_us.copy()
    matrix[1, 2], matrix[2, 1] = rtt_us, back_us
    write_network(sampled.network, matrix, tmp_path / "made")
    if not said:
        assert read_network(tmp_path / "made")[1].matrix_us[1, 2] == rtt_us
        return
    with pytest.raises(InputError, match=rf"latency\.npy: \[1, 2\]: {said}"):
        read_network(tmp_path / "made")


def test_a_host_at_a_place_that_does_not_exist_is_refused(tmp_path, sampled):
    places = sorted({host.place for host in sampled.network.hosts})
    write_network(sampled.network, sampled.matrix_us[: places[-1], : places[-1]], tmp_path / "made")
    said = f"is at a place that does not exist, got {places[-1]}; accepted: 0 to {places[-1] - 1}, the rows"
    with pytest.raises(InputError, match=said):
        read_network(tmp_path / "made")


@pytest.mark.parametrize(
    "matrix",
    [np.ones((3, 4), np.int32), np.ones((3, 3), np.int64), np.ones((3, 3)), np.ones((0, 0), np.int32)],
)
def test_what_is_no_square_of_round_trips_is_refused(directory, matrix):
    np.save(directory / LATENCY_FILE, matrix)
    with pytest.raises(InputError, match=r"latency\.npy: is no matrix of round trips"):
        read_network(directory)


def test_describe_adds_up(sampled):
    found = describe(sampled.network, sampled.latencies, TRAFFIC)
    usable = sum(min(r.rate_bytes_per_s, r.capacity_bytes_per_s) for r in sampled.network.relays)
    assert sum(held.usable_bytes_per_s for held in found.positions.values()) == usable
    assert found.regime.third_of_capacity_bytes_per_s == usable // 3
    assert found.regime.demand_ceiling_bytes_per_s == round(40 * 300 * 1024 / 15.5)
    assert 0 < found.regime.bucket_bound_share < 1


@pytest.mark.parametrize(("clients", "word"), [(1, "idle"), (20_000, "hopeless")])
def test_a_network_with_nothing_to_learn_from_is_warned_about(clients, word, configured, sampled):
    many = sample_network(configured(web_clients=clients, bulk_clients=0), 1)
    warning = describe(many.network, many.latencies, TRAFFIC).regime.warning
    assert warning is not None
    assert warning.startswith(word)


def test_the_commands_sample_and_describe(tmp_path):
    config, out = tmp_path / "small.yaml", tmp_path / "network"
    config.write_text(CONFIG)
    run = CliRunner()
    arguments = ["sample", str(config), "--seed", "3", "--out", str(out), "--set", "load=0.5"]
    assert run.invoke(network_app, arguments).exit_code == 0
    assert len(read_network(out, latency=False)[0].clients) == 22
    text = run.invoke(network_app, ["describe", str(out)])
    assert text.exit_code == 0
    assert "guard_exit" in text.stdout
    refused = run.invoke(network_app, ["describe", str(out), "--experiment", "starvation"])
    assert "no web clients that pause" in str(refused.exception)


@pytest.mark.parametrize(
    ("key", "known"),
    [("relay_population", "2012"), ("client_bandwidth", "netindex-2012"), ("latency", "planetlab")],
)
def test_a_table_there_is_not_is_refused_with_those_there_are(key, known, configured):
    with pytest.raises(InputError, match=f"there is no table of this name .*accepted: .*{known}"):
        sample_network(configured(**{key: "1066"}), 1)


def test_the_matrix_does_not_grow_with_the_hosts(configured, sampled):
    many = sample_network(configured(relays=3_000, web_clients=3_000, bulk_clients=50, servers=100), 1)
    assert many.network.node_count == 6_153
    assert (many.matrix_us == sampled.matrix_us).all()


@pytest.mark.parametrize("seed", ["-1", str(2**31 + 1)])
def test_a_seed_out_of_range_is_refused(tmp_path, seed):
    result = CliRunner().invoke(network_app, ["sample", "ci", "--seed", seed, "--out", str(tmp_path / "n")])
    assert result.exit_code == 2
    assert not (tmp_path / "n").exists()


def test_perf_clients_come_beside_what_is_there_without_them(configured):
    without = sample_network(configured(), 1).network
    sampled = sample_network(configured(perf_clients=4), 1)
    network = sampled.network
    own = network.clients[len(without.clients) :]
    assert network.relays == without.relays
    assert network.clients[: len(without.clients)] == without.clients
    assert [client.name for client in own] == ["perf1", "perf2", "perf3", "perf4"]
    assert [client.kind for client in own] == ["perf_50kib", "perf_1mib", "perf_5mib", "perf_50kib"]
    assert {client.down_bytes_per_s for client in own} == {without.servers[0].down_bytes_per_s}
    assert {client.access_us for client in own} == {0}
    assert describe(network, sampled.latencies, TRAFFIC).hosts["perf clients"] == len(own)


@pytest.mark.parametrize("more", [{}, {"clients_per_tor": 2}, {"perf_clients": 3, "load": 0.5}])
def test_the_hosts_that_run_tor_are_known_before(configured, more):
    config = configured(**more)
    network = sample_network(config, 1).network
    hosts = (*network.relays, *network.tor_clients, *network.authorities)
    assert tor_hosts(config) == [host.name for host in hosts]


def test_clients_that_share_a_tor_ask_as_before_from_one_place_with_one_link(configured):
    alone = sample_network(configured(web_clients=5), 1).network
    network = sample_network(configured(web_clients=5, clients_per_tor=2), 1).network
    web = network.clients_of("web")
    assert [client.name for client in web] == [client.name for client in alone.clients_of("web")]
    assert [client.tor for client in web] == [None, "web1", None, "web3", None]
    assert [user.name for user in network.users["web3"]] == ["web3", "web4"]
    assert {client.place for client in web[2:4]} == {web[2].place}
    both = sum(client.down_bytes_per_s for client in alone.clients_of("web")[2:4])
    assert {client.down_bytes_per_s for client in web[2:4]} == {both}
    config = NetworkConfig.model_validate(network.config)
    assert config.client_tor_count == len(network.tor_clients)
    assert config.host_count == network.node_count - len(network.clients) + len(network.tor_clients)


def _shares_tor(tor: str) -> Change:
    def change(document):
        document["clients"][1]["tor"], document["clients"][2]["tor"] = tor, "web1"

    return change


def _has_server(server: str) -> Change:
    return lambda document: document["clients"][0].update(server=server)


def _lacks_weight(name: str) -> Change:
    return lambda document: document["bandwidth_weights"].pop(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((_shares_tor(tor), "has no such tor") for tor in ("web3", "bulk1", "nobody")),
        *((_has_server(server), "is not a client's own") for server in ("server1", "server9")),
        *((_lacks_weight(name), f"bandwidth_weights.{name}: is missing") for name in WEIGHTS_OF_HOPS),
    ],
)
def test_a_network_whose_parts_do_not_fit_is_refused(directory, change, said):
    file = directory / NETWORK_FILE
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=said):
        read_network(directory)


def test_perf_clients_of_countries_are_onionperfs_with_a_server_beside_each(configured):
    asked = {"perf_clients": 30, "latency": "wonderproxy-2020"}
    without = sample_network(configured(**asked), 1).network
    network = sample_network(configured(**asked, countries="2019"), 1).network
    perf = [client for client in network.clients if client.name.startswith("perf")]
    assert {client.country for client in perf} == {"HK", "NL", "US"}
    for client in perf:
        (own,) = network.servers_of(client)
        assert (own.place, own.access_us) == (client.place, 0)
    others = network.servers_of(network.clients[0])
    assert [server.name for server in others] == [server.name for server in without.servers]
    hosts = NetworkConfig.model_validate(network.config).host_count
    assert hosts == network.node_count


def test_countries_need_places_that_have_some(configured):
    with pytest.raises(InputError, match=r"countries: needs a table of latency whose places have countries"):
        sample_network(configured(countries="2019"), 1)


def test_a_network_without_relays_is_not_described(directory, torsweep):
    file = directory / NETWORK_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "relays": []}))
    code, _, error = torsweep("network", "describe", directory)
    assert (code, error) == (2, f"torsweep: {file}: relays: is empty; accepted: one relay or more\n")
