"""Which hosts an ``on`` means, and how the hosts of a share are drawn."""

from __future__ import annotations

import pytest

from tests.small_network import small_network
from torsweep.config.option_bundle import Where
from torsweep.engines.host_choice import hosts_of, hosts_text, split_hosts
from torsweep.errors import InputError
from torsweep.network.model import Network

POSITIONS = ("guard", "middle", "exit", "guard_exit", "middle") * 8
WEBS = [f"web{number}" for number in range(1, 11)]


@pytest.fixture(scope="module")
def network() -> Network:
    return small_network(POSITIONS, WEBS, authorities=3)


def _hosts(network, **where):
    return hosts_of(network, Where(**where), "options", "options.a.on")


def _weight(network, hosts):
    weights = {relay.name: relay.consensus_weight for relay in network.relays}
    return sum(weights[host] for host in hosts) / sum(weights.values())


def test_a_role_a_position_and_names_are_all_of_them_in_the_networks_order(network):
    assert _hosts(network, role="authority") == ("authority1", "authority2", "authority3")
    assert _hosts(network, role="client") == tuple(WEBS)
    exits = [relay.name for relay in network.relays if relay.position in ("exit", "guard_exit")]
    assert _hosts(network, position=["exit", "guard_exit"]) == tuple(exits)
    assert _hosts(network, names=["web2", "relay3"]) == ("relay3", "web2")


def test_a_share_is_of_weight_for_relays_and_of_number_for_clients(network):
    for share in (0.1, 0.3, 0.5):
        assert _weight(network, _hosts(network, share=share)) == pytest.approx(share, abs=0.02)
        assert len(_hosts(network, role="client", share=share)) == 10 * share
    assert _hosts(network, share=1) == _hosts(network)


def test_a_larger_share_has_the_hosts_of_a_smaller_one_and_seeds_draw_others(network):
    small, large = set(_hosts(network, share=0.2)), set(_hosts(network, share=0.6))
    assert small < large
    assert small == set(_hosts(network, share=0.2))
    other = network.model_copy(update={"seed": 8})
    assert small != set(_hosts(other, share=0.2))


def test_a_share_of_a_position_is_of_its_weight_and_has_one_host_at_least(network):
    exits = _hosts(network, position="exit")
    half = _hosts(network, position="exit", share=0.5)
    assert set(half) < set(exits)
    assert _weight(network, half) / _weight(network, exits) == pytest.approx(0.5, abs=0.1)
    assert len(_hosts(network, role="client", share=0.001)) == 1
    assert hosts_text(network, ("relay1", "web1")) == "2 hosts, with 2 % of the weight of all relays"


def test_a_mix_parts_all_hosts_once(network):
    parts = split_hosts(network, Where(), [0.2, 0.3, 0.5], "tor", "tors.a.on")
    assert sorted(host for part in parts for host in part) == sorted(relay.name for relay in network.relays)
    for part, share in zip(parts, (0.2, 0.3, 0.5), strict=True):
        assert _weight(network, part) == pytest.approx(share, abs=0.03)


def test_a_mix_on_hosts_by_name_is_on_all_of_them(network):
    where = Where(names=("web2", "relay3", "authority1"))
    assert split_hosts(network, where, [1.0], "tor", "k") == [("relay3", "web2", "authority1")]
    one, two = split_hosts(network, Where(names=("web1", "web2")), [0.5, 0.5], "tor", "k")
    assert {*one, *two} == {"web1", "web2"}
    assert split_hosts(network, Where(names=("web2", "web1")), [0.5, 0.5], "tor", "k") == [one, two]


def test_hosts_that_the_network_does_not_have_are_refused():
    network = small_network(("guard", "middle", "exit"), ["web1"])
    for where, said in (
        ({"names": ["relay11"]}, r"names: no such host that .* \(did you mean 'relay1'"),
        ({"position": "guard_exit"}, r"position: .* got 'guard_exit'; accepted: exit, guard, middle"),
    ):
        with pytest.raises(InputError, match=rf"options\.a\.on\.{said}"):
            _hosts(network, **where)
