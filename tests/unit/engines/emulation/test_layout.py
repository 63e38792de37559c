"""Who has which address, what a torrc says of it, and which networks are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.engines.loopback.conftest import POSITIONS, network, run_spec, traffic
from torsweep.engines.loopback.addresses import (
    LINK_PORT,
    SERVER_LISTEN_PORT,
    SERVER_PORT,
    AddressBlock,
    claim_block,
)
from torsweep.engines.loopback.layout import UNLIMITED_BYTES_PER_S, Delay, Layout, check_size
from torsweep.errors import InputError
from torsweep.network.model import Network


@pytest.fixture
def block() -> Iterator[AddressBlock]:
    claimed = claim_block()
    yield claimed
    claimed.close()


def layout(block: AddressBlock, made: Network | None = None, delay: Delay = "proxy", **run: object) -> Layout:
    made = made or network(*POSITIONS)
    rtt_us = np.arange(made.node_count**2, dtype=np.int32).reshape(made.node_count, -1) * 1_000
    folder = Path("/nowhere")
    return Layout(run_spec(**run), made, rtt_us, block, folder / "processes", folder / "sockets", delay)


def options(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    assert len(found) == len(lines), "an option stands twice"
    return found


def test_no_two_processes_listen_at_the_same_place(block):
    for delay in ("proxy", "none"):
        endpoints = layout(block, delay=delay).endpoints()
        assert len(endpoints) == len(set(endpoints))
        assert all(address.startswith(f"{block.prefix}.") for address, _ in endpoints)


def test_every_process_leaves_its_host_through_its_own_link(block):
    made = layout(block)
    for place in [*made.authorities, *made.relays, *made.clients]:
        assert options(made.torrc(place, "DirAuthority x"))["HTTPSProxy"] == f"{place.address}:{LINK_PORT}"
    direct = layout(block, delay="none")
    assert "HTTPSProxy" not in direct.torrc(direct.relays[0], "DirAuthority x")
    assert direct.server_listens_at == SERVER_PORT


def test_no_process_listens_outside_its_block(block):
    made = layout(block)
    for place in [*made.authorities, *made.relays, *made.clients]:
        found = options(made.torrc(place, "DirAuthority x"))
        for option in ("ORPort", "DirPort", "SocksPort"):
            assert found.get(option, "0").startswith((place.address, "0"))
        assert "SocksPort" in found
        assert found["ControlPort"] == f"unix:{place.control}"


def test_the_authority_knows_what_relays_are_for_by_their_addresses(block):
    made = layout(block, network("guard", "guard_exit", "exit", "middle"))
    found = options(made.torrc(made.authorities[0], "DirAuthority x"))
    addresses = [place.address for place in made.relays]
    assert found["TestingDirAuthVoteGuard"] == ",".join(addresses[:2])
    assert found["TestingDirAuthVoteExit"] == ",".join(addresses[1:3])


def test_clients_with_paths_leave_their_streams_to_the_engine(block):
    given = layout(block)
    assert "__LeaveStreamsUnattached 1" in given.torrc(given.clients[0], "DirAuthority x")
    free = layout(block, paths=None)
    assert "__LeaveStreamsUnattached" not in free.torrc(free.clients[0], "DirAuthority x")


@pytest.mark.parametrize("isolated", [False, True])
def test_streams_are_isolated_where_they_are_to_be(block, isolated):
    asked = {"bulk": traffic(streams_per_circuit_isolation=isolated)}
    made = layout(block, paths=None, traffic=asked)
    port = options(made.torrc(made.clients[0], "DirAuthority x"))["SocksPort"]
    assert port.endswith("NoIsolateSOCKSAuth") != isolated


def test_extra_lines_come_last(block):
    made = layout(block)
    lined = Layout(**{**vars(made), "extra": ("StreamPackaging even",)})
    assert lined.torrc(lined.relays[0], "x").rstrip().endswith("StreamPackaging even")


def test_links_have_half_the_rtt_and_the_rates_of_both_ends(block):
    made = layout(block)
    document = made.links_document()
    assert document["delays_us"][1][2] == int(made.rtt_us[1, 2]) // 2
    client = made.network.clients[0]
    assert document["hosts"][client.node] == {"up_bytes_per_s": 100_000, "down_bytes_per_s": 800_000}
    doors = [door for door in document["endpoints"] if "to" not in door]
    assert [(door["listen"], door["from"]) for door in doors] == [
        ([place.address, LINK_PORT], place.node) for place in [*made.authorities, *made.relays, *made.clients]
    ]


def test_servers_are_as_far_as_from_the_only_exit(block):
    made = layout(block)
    document = made.links_document()
    door = next(door for door in document["endpoints"] if "to" in door)
    server = block.address(made.network.servers[0].node)
    assert door == {"listen": [server, SERVER_PORT], "from": 2, "to": [server, SERVER_LISTEN_PORT]}


def test_servers_are_as_far_as_from_all_exits_on_average(block):
    made = layout(block, network("guard", "exit", "guard_exit"))
    document = made.links_document()
    door = next(door for door in document["endpoints"] if "to" in door)
    server = made.network.servers[0].node
    expected = (int(made.rtt_us[1, server]) // 2 + int(made.rtt_us[2, server]) // 2) / 2
    assert document["delays_us"][door["from"]][server] == pytest.approx(expected, abs=1)
    assert document["hosts"][door["from"]]["up_bytes_per_s"] == UNLIMITED_BYTES_PER_S


def test_a_relay_too_slow_for_tor_is_named():
    with pytest.raises(InputError, match=re.escape("relay1.rate_bytes_per_s: tor refuses")):
        check_size(network(*POSITIONS, rate_bytes_per_s=76_799), Path("network.json"))
    check_size(network(*POSITIONS, rate_bytes_per_s=76_800), Path("network.json"))


def test_a_network_too_large_for_one_machine_is_refused():
    with pytest.raises(InputError, match="too large to run in real time"):
        check_size(network(*["middle"] * 59), Path("network.json"))
