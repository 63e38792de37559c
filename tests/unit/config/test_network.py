"""Network configurations: what the files here hold, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torsweep.config.network import NETWORKS_DIRECTORY, NetworkConfig, load_network_config
from torsweep.config.overrides import Overrides
from torsweep.errors import InputError


def test_every_network_here_is_valid():
    files = sorted(NETWORKS_DIRECTORY.glob("*.yaml"))
    assert len(files) >= 4
    for file in files:
        load_network_config(file)


@pytest.mark.parametrize(
    ("network", "changes", "counts"),
    [
        ("paper", {"load": 0.5}, (50, 200, 475, 25)),
        ("ci", {"load": "1.1"}, (10, 20, 105, 6)),  # 104.5 and 5.5
        ("paper", {"load": 0.5, "scale": 0.3}, (15, 60, 143, 8)),  # 142.5 and 7.5
    ],
)
def test_load_and_scale_round_half_up(network, changes, counts):
    config = load_network_config(network, changes)
    clients = (config.client_counts["web"], config.client_counts["bulk"])
    assert (config.relay_count, config.server_count, *clients) == counts
    assert (config.authorities, config.host_count) == (3, 3 + sum(counts))


@given(st.integers(1, 200), st.decimals("0.1", "2", places=2))
def test_scaling_is_exact_decimal_arithmetic(clients, load):
    config = NetworkConfig(relays=10, web_clients=clients, bulk_clients=200, servers=5, load=float(load))
    assert config.client_counts["web"] == int(clients * load * 2 + 1) // 2


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"relayz": 5}, "relayz: unknown key (did you mean 'relays'?)"),
        ({"relays": -1}, "relays: is not accepted, got -1; accepted: greater than or equal to 3"),
        ({"web_clients": 600_000, "load": 2}, "load: too many hosts"),
        ({"web_clients": 0, "bulk_clients": 0}, "web_clients: a network needs a client"),
        ({"onion_clients": 2}, "onion_servers: does not fit the clients and servers, got 0; accepted: 1 to"),
        ({"onion_servers": 201}, "onion_servers: does not fit the clients and servers, got 201; accepted"),
        ({"load": float("nan")}, "load: is not accepted, got nan; accepted: a finite number"),
        ({"server_bandwidth": 10}, "server_bandwidth: has no unit, got 10; accepted: a text such as"),
        ({"access_delay.maximum": "1 ms"}, "access_delay.maximum: the maximum is less than the median"),
        ({"loss.share": 0.3}, "loss.share: is not accepted, got 0.3; accepted: less than or equal to 0.2"),
        ({"latency": {"file": "m.csv", "use": "fitt"}}, "latency.use: is not accepted (did you mean"),
        ({"latency": {"file": "m.csv", "name": "planetlab"}}, "latency: is not accepted"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_accepted(overrides, said):
    with pytest.raises(InputError) as refusal:
        load_network_config("paper", overrides)
    message = str(refusal.value)
    assert message.startswith(f"configs/networks/paper.yaml: {said}")
    assert "\n" not in message


def _positions(guard: int, exit_: int, guard_exit: int, middle: int) -> dict[str, object]:
    return {"positions": {"guard": guard, "exit": exit_, "guard_exit": guard_exit, "middle": middle}}


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (_positions(60, 1, 1, 2), "positions: the positions do not add up to the number of relays, got 64"),
        (_positions(0, 25, 0, 25), "positions.guard: too few relays can be a guard, got 0; accepted: 2 or"),
        (_positions(25, 0, 0, 25), "positions.exit: no relay can be an exit"),
        ({"positions.gard": 1}, "positions.gard: unknown key (did you mean 'guard'?)"),
    ],
)
def test_positions_must_fit_the_relays(positions, said):
    with pytest.raises(InputError) as refusal:
        load_network_config("paper", positions)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"chain.middle": "19 KiB/s"}, "chain.middle: is out of range, got '19 KiB/s'; accepted: 20 KiB/s"),
        ({"chain.exit": "101 Mbit/s"}, "chain.exit: is out of range, got '12625 KB/s'"),
        ({"relays": 4}, "relays: a chain has three relays, got 4; accepted: 3"),
        (_positions(2, 1, 0, 0), "positions: a chain has one relay in each position"),
        ({"client_bandwidth.name": "netindex-2012"}, "client_bandwidth: is not accepted"),
    ],
)
def test_a_chain_must_be_whole_and_alone(overrides, said):
    with pytest.raises(InputError) as refusal:
        load_network_config("starvation", overrides)
    assert str(refusal.value).startswith(f"configs/networks/starvation.yaml: {said}")


def test_keys_that_came_later_leave_the_copies_of_older_configurations_alone():
    document = load_network_config("paper").model_dump(mode="json")
    assert not {"chain", "loss", "scale"} & document.keys()
    assert document["relay_population"] == {"name": "2012", "file": None}
    assert document["client_bandwidth"] == {"name": "netindex-2012", "file": None}


def test_an_unquoted_year_is_the_name_of_a_table():
    assert load_network_config("paper", {"relay_population": 2024}).relay_population.name == "2024"


def test_an_imported_file_takes_the_place_of_a_table():
    config = load_network_config("paper", {"client_bandwidth": {"file": "my/quantiles.csv"}})
    assert config.client_bandwidth.file == Path("my/quantiles.csv")
    assert config.client_bandwidth.name is None


def test_an_unknown_network_lists_those_there_are():
    with pytest.raises(
        InputError,
        match=r"no such network \(did you mean 'laptop'\?\), got 'laptp'; accepted: .*binding_middle, ci",
    ):
        load_network_config("laptp")


def test_a_name_that_snakemake_made_a_number_of_is_refused_with_how_to_state_it():
    said = r"network: is a number, which Snakemake makes of .*, got 202406; accepted: .*network: '2024_06'"
    with pytest.raises(InputError, match=said):
        Overrides.read({"network": 202406})
    with pytest.raises(InputError, match="no such network, got '2024_06'"):
        Overrides.read({"network": "2024_06"})


def test_a_configuration_survives_its_own_json():
    config = load_network_config("paper", {"load": 0.8, "latency": {"file": "m.csv", "use": "direct"}})
    assert NetworkConfig.model_validate_json(config.model_dump_json()) == config
