"""Keys of a network as levels, key by key: what a level does not touch is drawn the same; and tables that a
user writes by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from torsweep.config.network import load_network_config
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.home import CHECKOUT
from torsweep.network.clients import read_bandwidth
from torsweep.network.plain_tables import read_round_trips, with_values
from torsweep.network.relays import read_population
from torsweep.network.sampling import SampledNetwork, sample_network
from torsweep.pipeline.tree import parse_network_key

POPULATION = read_population(Path("topologies/relays/2012.json"))


@pytest.fixture
def study(tmp_path: Path, monkeypatch) -> Path:
    """A folder with tables of its own; what it lacks is the checkout's."""
    for name, text in {
        "relay_values/equal.csv": "consensus_weight\n" + "7\n" * len(POPULATION.relays),
        "relay_values/slow.csv": "rate_bytes_per_s\n" + "90000\n" * len(POPULATION.relays),
        "bandwidth/office.csv": "down_mbit_per_s,up_mbit_per_s\n100,10\n100,10\n",
        "latency/groups.csv": "from,to,rtt_ms\n" + "".join(
            f"{one},{other},{rtt}\n"
            for one, other, rtt in (
                ("relay", "relay", 40), ("relay", "web", 60), ("relay", "bulk", 60), ("relay", "server", 20),
                ("web", "web", 9), ("bulk", "bulk", 9), ("server", "server", 9), ("web", "bulk", 9),
                ("web", "server", 9), ("bulk", "server", 9), ("relay2", "web", 200),
            )
        ),
    }.items():  # fmt: skip
        file = tmp_path / "topologies" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sampled(levels: str = "") -> SampledNetwork:
    key = "+".join(filter(None, ("ci", levels)))
    return sample_network(load_network_config(*parse_network_key(key)), seed=3)


def changed(one: SampledNetwork, other: SampledNetwork) -> set[str]:
    """The fields of hosts in which two networks differ; names of groups whose numbers differ."""
    fields = set()
    for group in ("relays", "authorities", "clients", "servers"):
        before, after = getattr(one.network, group), getattr(other.network, group)
        if len(before) != len(after):
            fields.add(group)
        for was, is_ in zip(before, after, strict=False):
            now = is_.model_dump()
            fields |= {f"{group}.{name}" for name, value in was.model_dump().items() if now[name] != value}
    if not np.array_equal(one.matrix_us, other.matrix_us):
        fields.add("round trips")
    return fields


RATES = {f"relays.{what}" for what in ("rate_bytes_per_s", "burst_bytes", "rate_floored")}


@pytest.mark.parametrize(
    ("level", "touches"),
    [
        ("network.relay_values=equal", {"relays.consensus_weight"}),
        ("network.relay_values=slow", RATES),
        ("network.relay_rate_divisor=2", RATES | {"relays.capacity_bytes_per_s"}),
        ("network.client_bandwidth=office", {"clients.down_bytes_per_s", "clients.up_bytes_per_s"}),
        (
            "network.latency=groups",
            {"round trips", *(f"{group}.place" for group in ("relays", "authorities", "clients", "servers"))},
        ),
        ("network.server_bandwidth=1Gbitps", {"servers.down_bytes_per_s", "servers.up_bytes_per_s"}),
        ("network.access_delay.median=30ms", {"clients.access_us"}),
        ("network.bulk_clients=9", {"clients"}),
        ("network.servers=30", {"servers"}),
        ("network.authorities=5", {"authorities"}),
        ("network.loss.share=0.01", set()),
        ("network.link_queue=codel", set()),
        ("load=1", set()),
    ],
)
def test_what_a_level_does_not_touch_is_drawn_the_same(study, level, touches):
    assert changed(sampled(), sampled(level)) == touches


def test_a_key_that_there_is_not_and_a_wrong_value_are_refused_in_one_line(study):
    with pytest.raises(InputError, match=r"relay_value: unknown key \(did you mean 'relay_values'\?\)"):
        sampled("network.relay_value=equal")
    with pytest.raises(InputError, match=r"relay_values: there is no table of this name .*equal"):
        sampled("network.relay_values=even")
    with pytest.raises(InputError, match=r"servers: is not accepted, got 'many'"):
        sampled("network.servers=many")
    assert Variant.parse("network.relay_values=none").overrides("network") == {"relay_values": "null"}
    assert sampled("network.relay_values=none").network == sampled().network


def test_weights_of_a_table_decide_how_positions_share_weight(study):
    told = with_values(POPULATION, study / "topologies/relay_values/equal.csv")
    assert told.weight_share["guard"] == pytest.approx(
        len(POPULATION.of("guard")) / len(POPULATION.relays), abs=1e-5
    )
    assert {relay.consensus_weight for relay in told.relays} == {7}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weight\n1\n", "other columns, got 'weight'; accepted: some of consensus_weight, capacity_bytes"),
        ("consensus_weight\n1\n2\n", "is not of these relays: it has other rows, got 2; accepted: "),
        ("consensus_weight\n" + "1\n" * (len(POPULATION.relays) - 1) + "0\n", "no number in range, got '0'"),
        ("consensus_weight\n" + "x\n" * len(POPULATION.relays), "row 1, consensus_weight: is no number"),
    ],
)
def test_a_table_of_other_relays_is_refused(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        with_values(POPULATION, tmp_path / "t.csv")


def test_round_trips_of_a_host_come_before_those_of_its_group(study):
    network = sampled("network.latency=groups")
    between, nodes = network.latencies.between, network.network.node_of
    access = {client.name: client.access_us for client in network.network.clients}
    assert between(nodes["relay2"], nodes["web1"]) == 200_000 + access["web1"]
    assert between(nodes["relay3"], nodes["web1"]) == 60_000 + access["web1"]
    assert between(nodes["relay2"], nodes["server1"]) == 20_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from,to,ms\na,b,1\n", "other columns"),
        ("from,to,rtt_ms\n", "other columns"),
        ("from,to,rtt_ms\nweb,relay,0\n", "row 1: is no round trip, got 0.0; accepted: 2 to 60000 ms"),
        ("from,to,rtt_ms\nweb,relay,9\nrelay,web,8\n", "row 2: contradicts another line, got 8.0"),
        ("from,to,rtt_ms\nweb,relay,9\n", "relay,relay: lacks a round trip"),
    ],
)
def test_what_is_no_table_of_round_trips_is_refused(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_round_trips(tmp_path / "t.csv")


def test_a_plain_table_of_clients_has_no_spread_of_its_own(tmp_path):
    (tmp_path / "t.csv").write_text("down_mbit_per_s,up_mbit_per_s\n8,1\n80,10\n")
    table = read_bandwidth(tmp_path / "t.csv")
    assert (table.down[0], table.down[-1], table.spread_sigma) == (1_000_000, 10_000_000, 0)
    (tmp_path / "t.csv").write_text("down,up\n8,1\n")
    with pytest.raises(InputError, match=r"columns are missing, .*accepted: down_mbit_per_s, up_mbit_per_s"):
        read_bandwidth(tmp_path / "t.csv")


def test_the_pipeline_takes_networks_of_such_knobs():
    (pattern,) = re.findall(r'^    network=r"(.*)",$', (CHECKOUT / "Snakefile").read_text(), re.MULTILINE)
    assert re.fullmatch(pattern, "ci+network.relay_values=equal+load=0.5")
