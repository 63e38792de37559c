"""Who is where, what a torrc says of it, what the links are told, and which networks are refused."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.small_network import small_network
from tests.unit.engines.emulation.conftest import GENCERT, POSITIONS, network, run_spec, traffic
from torsweep.config.eras import ERAS, tor_settings
from torsweep.config.tracing import Tracing
from torsweep.engines.circuit_paths import PathChooser
from torsweep.engines.emulation.process_layout import (
    AUTHORITY_LINK_BYTES_PER_S,
    KEPT_S,
    Identities,
    Place,
    ProcessLayout,
    links_document,
    put_keys,
)
from torsweep.engines.emulation.tcp import TCP, settable
from torsweep.engines.host_files import address, paths_text
from torsweep.engines.run_spec import UserLines, UserOptions
from torsweep.errors import OutputError, TorsweepError
from torsweep.network.model import Network
from torsweep.tor.arti_client import GUARDS_FILE
from torsweep.tor.torrc import bandwidths_text


def made(network_: Network | None = None, **run: object) -> ProcessLayout:
    return ProcessLayout(run_spec(**run), network_ or network(*POSITIONS), Path("/runs"), Path("/s"))


def identities(layout: ProcessLayout) -> Identities:
    """A fingerprint for each relay and authority: its node in hexadecimal."""
    places = [*layout.authorities, *layout.relays]
    relays = {place.name: f"{place.node:040X}" for place in places}
    return Identities(relays, {place.name: "F" * 40 for place in layout.authorities})


def options(layout: ProcessLayout, place: Place) -> dict[str, str]:
    text = layout.torrc(place, identities(layout))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    twice = len(lines) - len(found)
    # Only logs may stand twice: a relay writes its queues to a file of its own.
    assert twice == (place.role == "relay"), text
    return found


def test_hosts_are_where_shadow_has_them_and_clients_listen_on_no_network():
    layout = made()
    relay, client = options(layout, layout.relays[1]), options(layout, layout.clients[0])
    assert relay["ORPort"] == f"{address(1)}:9001"
    assert client["SocksPort"] == "unix:/s/bulk1.s NoIsolateSOCKSAuth"
    for place in layout.places:
        found = options(layout, place)
        assert found["ControlPort"] == f"unix:/s/{place.name}.c"
        known = f"authority1 orport=9001 v3ident={'F' * 40} {address(3)}:9030 {3:040X}"
        assert found["DirAuthority"] == known


def test_clients_of_one_tor_have_a_port_each_and_no_host_of_their_own():
    layout = made(small_network(POSITIONS, ["bulk1", "bulk2"], shared=True))
    assert [place.name for place in layout.clients] == ["bulk1"]
    text = layout.torrc(layout.clients[0], identities(layout))
    ports = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("SocksPort")]
    assert ports == [f"unix:/s/{name}.s NoIsolateSOCKSAuth" for name in ("bulk1", "bulk2")]
    links = links_document(layout.network, Path("latency.npy"), TCP["2012"], {}, 1, Path("links"))
    assert "bulk2" not in [host["name"] for host in links["hosts"]]
    assert layout.network.node_of["bulk2"] == 5, "other hosts keep their addresses"


def test_only_relays_that_are_traced_record_their_cells():
    layout = made(tracing=Tracing(hosts=("relay2",), points=("inbuf", "flush"), sample=3, records=5000))
    traced = options(layout, layout.relays[1])
    told = {"File": "/runs/relay2/cells.ring", "Points": "inbuf,flush", "Records": "5000", "Sample": "3"}
    assert {name: traced[name] for name in traced if name.startswith("CellTrace")} == {
        f"CellTrace{name}": value for name, value in told.items()
    }
    others = [place for place in layout.places if place.name != "relay2"]
    assert not any(name.startswith("CellTrace") for place in others for name in options(layout, place))
    assert layout.rings == {"relay2": Path("/runs/relay2/cells.ring")}


def test_exits_log_round_trips_where_windows_depend_on_them():
    today = made(tor=tor_settings("today", {}))
    texts = {place.name: today.torrc(place, identities(today)) for place in today.places}
    line = "Log [circ]info file /runs/relay3/round_trips.log\n"
    assert [name for name, text in texts.items() if line in text] == ["relay3"]
    assert "LogTimeGranularity 1 msec\n" in texts["relay3"]
    assert today.round_trip_logs == {"relay3": Path("/runs/relay3/round_trips.log")}
    assert not made().round_trip_logs


def test_the_authority_knows_what_relays_are_for_and_what_they_weigh():
    layout = made(network("guard", "guard_exit", "exit", "middle"))
    found = options(layout, layout.authorities[0])
    assert found["TestingDirAuthVoteGuard"] == f"{0:040X},{1:040X}"
    assert found["TestingDirAuthVoteExit"] == f"{1:040X},{2:040X}"
    assert found["V3BandwidthsFile"] == "/runs/bandwidths"
    lines = bandwidths_text(layout.network, identities(layout).relays, 1_700_000_000).splitlines()
    assert lines[0] == "1700000000"
    assert lines[2] == f"node_id=${1:040X} bw=101"
    assert lines[-1] == f"node_id=${4:040X} bw=0"


def test_the_tor_of_a_client_takes_the_paths_of_its_circuits_from_a_file():
    common, free = made(), made(paths=None)
    assert options(common, common.clients[0])["CircuitPathsFile"] == "/runs/bulk1/circuit-paths"
    assert "CircuitPathsFile" not in options(free, free.clients[0])
    known = frozenset({"CircuitPathsFile"})
    text = paths_text(common.run, identities(common), "bulk1", known)
    assert text == f"${0:040X} ${1:040X} ${2:040X}\n"
    assert not paths_text(common.run, identities(common), "bulk1", frozenset())


@pytest.mark.parametrize("isolated", [False, True])
def test_streams_are_isolated_where_they_are_to_be(isolated):
    layout = made(paths=None, traffic={"bulk": traffic(streams_per_circuit_isolation=isolated)})
    assert options(layout, layout.clients[0])["SocksPort"].endswith("NoIsolateSOCKSAuth") != isolated


def test_the_links_have_each_hosts_rates_and_the_eras_tcp():
    made_network, tcp = network(*POSITIONS), TCP["2012"]
    document = links_document(made_network, Path("/l.npy"), tcp, tcp.sysctls(), 7, Path("/links.parquet"))
    assert document["packets"] is None
    recorded = (Path("/packets.parquet"), ("relay1",))
    traced = links_document(made_network, Path("/l.npy"), tcp, {}, 7, Path("/links.parquet"), recorded)
    assert traced["packets"] == {"file": "/packets.parquet", "hosts": ["relay1"]}
    assert json.loads(json.dumps(document)) == document
    hosts = {host["name"]: host for host in document["hosts"]}
    assert list(hosts) == [host.name for host in made_network.hosts]
    assert document["latency_floor_us"] == made_network.latency_floor_us
    rates = {"up_bytes_per_s": 1_000_001, "down_bytes_per_s": 1_000_001}
    assert hosts["relay2"] == {"name": "relay2", "address": address(1), "place": 1, "access_us": 0, **rates}
    assert (hosts["bulk1"]["up_bytes_per_s"], hosts["bulk1"]["down_bytes_per_s"]) == (100_000, 800_000)
    assert hosts["authority1"]["up_bytes_per_s"] == AUTHORITY_LINK_BYTES_PER_S
    assert document["congestion_control"] == "cubic"
    assert document["sysctls"]["net.ipv4.tcp_recovery"] == "0"


def test_lines_that_the_user_gives_stand_last_and_parameters_are_voted_for():
    given = UserOptions(
        torrc=(UserLines(lines={"CacheDNS": "0"}, hosts=("relay2",)), UserLines(lines={"NumCPUs": "2"})),
        consensus={"cc_alg": 1},
    )
    layout = made(given=given)
    texts = {place.name: layout.torrc(place, identities(layout)) for place in layout.places}
    assert texts["relay2"].endswith("\nCacheDNS 0\nNumCPUs 2\n")
    assert texts["relay1"].endswith("\nNumCPUs 2\n")
    assert "CacheDNS" not in texts["relay1"] + texts["bulk1"] + texts["authority1"]
    assert re.search(r"^ConsensusParams .*\bcc_alg=1\b", texts["authority1"], re.MULTILINE)


def test_a_tor_beside_the_server_of_an_onion_service_leads_to_it():
    plain = network(*POSITIONS)
    (server,) = plain.servers
    layout = made(plain.model_copy(update={"servers": (server.model_copy(update={"onion": True}),)}))
    (service,) = layout.services
    lines = options(layout, service)
    assert lines["HiddenServiceDir"] == "/runs/server1/onion"
    assert lines["HiddenServicePort"] == f"80 {service.address}:80"
    assert lines["SocksPort"] == "0"
    assert "VanguardsLiteEnabled" not in lines
    assert options(layout, layout.clients[0])["VanguardsLiteEnabled"] == "0"
    assert not made().services


def test_a_client_without_guards_uses_none():
    layout = made()
    client = layout.clients[0]
    assert "UseEntryGuards" not in options(layout, client)
    without = made(traffic={"bulk": traffic(keeps_guards=False)})
    assert options(without, client)["UseEntryGuards"] == "0"


@pytest.mark.parametrize("relays", [POSITIONS, ("guard",) * 3 + ("middle",) * 3 + ("exit",)])
def test_arti_begins_with_guards_that_are_drawn_by_weight_where_there_is_a_choice(tmp_path, relays) -> None:
    """By itself it would choose among few guards as if they were alike."""
    layout = ProcessLayout(run_spec(), network(*relays), tmp_path, Path("/s"))
    for place in (*layout.authorities, *layout.relays):
        (place.data / "keys").mkdir(parents=True)
        (place.data / "keys" / "ed25519_master_id_public_key").write_bytes(bytes([place.node] * 64))
    (place,) = layout.clients
    place.folder.mkdir()
    layout.write_arti(place, identities(layout))
    kept = json.loads((place.data / GUARDS_FILE).read_text())["default"]["guards"]
    due = []
    if relays != POSITIONS:
        due = PathChooser(layout.network, layout.network.seed, layout.run.tor.guards).guards(0)
    # A relay's node is its number, and its fingerprint.
    assert [guard["id"]["rsa"] for guard in kept] == [f"{relay:040x}" for relay in due]
    assert all(guard["confirmed_at"] for guard in kept)
    assert place.arti_config.is_file()


def test_every_era_states_every_setting():
    assert TCP.keys() == set(ERAS)
    assert TCP["2012"].settings.keys() == TCP["today"].settings.keys()


def test_what_a_kernel_has_not_is_named_and_not_set(tmp_path):
    there = tmp_path / "net" / "ipv4"
    there.mkdir(parents=True)
    (there / "tcp_sack").write_text("1")
    found, absent = settable({"net.ipv4.tcp_sack": "1", "net.ipv4.tcp_recovery": "0"}, tmp_path)
    assert (found, absent) == ({"net.ipv4.tcp_sack": "1"}, ["net.ipv4.tcp_recovery"])


ONCE = """
marker = pathlib.Path(sys.argv[0]).with_name("made")
marker.write_text((marker.read_text() if marker.exists() else "") + "x")
"""


UNREADABLE = GENCERT.replace('"A" * 40', '"no"')


def put(layout: ProcessLayout, tor) -> Identities:
    for place in layout.places:
        place.data.mkdir(parents=True)
    return put_keys(layout, tor, lambda line: None)


def test_relays_have_an_identity_and_authorities_two(layout, fake_tor):
    found = put(layout, fake_tor(""))
    assert found.relays == dict.fromkeys(["authority1", "relay1", "relay2", "relay3"], "0123" * 10)
    assert found.votes == {"authority1": "A" * 40}


def test_keys_are_made_once_and_anew_before_they_expire(layout, fake_tor, tmp_path):
    tor = fake_tor("")
    tor.gencert.write_text(tor.gencert.read_text() + ONCE)
    first = put(layout, tor)
    again = replace(layout, folder=tmp_path / "again")
    assert put(again, tor) == first
    assert (tor.folder / "bin" / "made").read_text() == "x"
    assert (again.authorities[0].data / "keys" / "authority_certificate").is_file()
    long_ago = time.time() - KEPT_S - 1
    os.utime(tor.folder / "keys" / "authority1", (long_ago, long_ago))
    put(replace(layout, folder=tmp_path / "third"), tor)
    assert (tor.folder / "bin" / "made").read_text() == "xx"


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        (None, TorsweepError, "tor-gencert: cannot be run: No such file or directory$"),
        ("raise SystemExit('no key')", TorsweepError, "^authority1: tor-gencert failed and said: no key$"),
        ("raise SystemExit('x: No space left on device')", OutputError, r"No space left on device \(.* free"),
        (UNREADABLE, TorsweepError, "authority_certificate: tor-gencert wrote no fingerprint"),
    ],
)
def test_a_gencert_that_fails_or_finds_no_room_is_quoted_and_kept_nowhere(
    layout, fake_tor, script, error, said
):
    tor = fake_tor("")
    if script is None:
        tor.gencert.unlink()
    else:
        tor.gencert.write_text(f"#!{sys.executable}\n{script}\n")
    with pytest.raises(error, match=said):
        put(layout, tor)
    assert not (tor.folder / "keys" / "authority1").exists()
