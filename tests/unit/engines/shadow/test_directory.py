"""The folder that Shadow reads: who runs where, from when, and with what configuration."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stand_ins import SERIES_OPTIONS, stand_in_tor
from torsweep.config.eras import tor_settings
from torsweep.config.shadow_options import ShadowOptions
from torsweep.config.tracing import Tracing
from torsweep.engines.draws import client_start_ns
from torsweep.engines.host_tors import HostTors
from torsweep.engines.run_spec import RunProgram, RunPrograms, UserLines, UserOptions
from torsweep.engines.shadow.directory import write_directory
from torsweep.engines.shadow.simulate import (
    BOOTSTRAP_NS,
    GraphHost,
    Process,
    ShadowSettings,
    ShadowSimulation,
    read_layout,
)
from torsweep.errors import InputError
from torsweep.network.model import ProgramHost

Write = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run" / "shadow"


def _start_ns(process: dict[str, Any]) -> int:
    return int(process["start_time"].removesuffix(" ns"))


@pytest.fixture
def write(run, network, rtt_us, keys, tools, folder) -> Write:
    """Writes the folder of the run, or of what a test gives in its place; its configuration."""

    def make(**given: Any) -> dict[str, Any]:
        of = {"run": run, "network": network, "tools": tools, **given}
        latencies = of["network"].latencies(rtt_us)
        write_directory(of["run"], of["network"], latencies, keys, of["tools"], ShadowSettings(), folder)
        document: dict[str, Any] = json.loads((folder / "shadow.yaml").read_text())
        return document

    return make


@pytest.fixture
def written(write: Write) -> dict[str, Any]:
    return write()


def test_each_host_stands_at_its_node_with_an_address_of_its_own(written, network):
    assert len(written["hosts"]) == network.node_count
    assert written["hosts"]["web2"]["network_node_id"] == 9
    addresses = {host["ip_addr"] for host in written["hosts"].values()}
    assert len(addresses) == network.node_count


def test_the_run_is_as_long_as_asked_after_the_bootstrap(written, run):
    assert (
        written["general"].items()
        >= {
            "stop_time": f"{BOOTSTRAP_NS + run.duration_ns} ns",
            "bootstrap_end_time": f"{BOOTSTRAP_NS} ns",
            "model_unblocked_syscall_latency": False,
            "seed": run.seed + 1,
        }.items()
    )
    assert written["experimental"]["use_new_tcp"] is False
    assert written["network"]["use_shortest_path"] is False


@pytest.mark.parametrize(("downloads", "captured"), [(0, set()), (5, {"relay2", "relay4"})])
def test_where_downloads_are_followed_all_hosts_on_their_ways_capture(write, run, downloads, captured):
    tracing = Tracing(hosts=("relay2", "relay4"), downloads=downloads)
    hosts = write(run=run.model_copy(update={"tracing": tracing}))["hosts"]
    capture = {"pcap_enabled": True, "pcap_capture_size": "128 B"}
    found = {name for name, host in hosts.items() if host["host_options"] == capture}
    ends = {"web1", "web2", "bulk1", "server1", "server2"} if downloads else set()
    assert found == captured | ends
    assert all(hosts[name]["host_options"] == {} for name in hosts.keys() - found)


def test_clients_download_from_their_offset_in_the_window(written, run):
    for number, name in enumerate(("web1", "web2", "bulk1")):
        tgen = written["hosts"][name]["processes"][-1]
        offset_ns = client_start_ns(run.seed, number, run.client_start_window_ns)
        assert tgen["path"].endswith("/tgen")
        assert _start_ns(tgen) == BOOTSTRAP_NS + offset_ns


def test_clients_share_a_torrc_and_each_has_paths_of_its_own(write, run, keys, folder):
    path = ("relay1", "relay5", "relay2")
    paths = {"web1": (path,), "web2": (path, ("relay3", *path[1:]))}
    hosts_of = write(run=run.model_copy(update={"paths": paths}))["hosts"]
    relays, hosts = keys.identities.relays, folder / "template/hosts"
    first = " ".join(f"${relays[name]}" for name in path)
    assert (hosts / "web1/circuit-paths").read_text() == f"{first}\n"
    assert (hosts / "web2/circuit-paths").read_text().splitlines()[1].startswith(f"${relays['relay3']} ")
    assert not (hosts / "bulk1/circuit-paths").exists()
    arguments = {name: hosts_of[name]["processes"][0]["args"] for name in ("web1", "web2", "bulk1")}
    assert arguments["web1"] == arguments["web2"] != arguments["bulk1"]


def test_authorities_know_each_other_the_positions_and_the_weights(written, folder, keys):
    torrc = (folder / "template/hosts/authority2/torrc").read_text()
    for name, identity in keys.identities.votes.items():
        assert f"DirAuthority {name} orport=9001 v3ident={identity} " in torrc
    guards = ",".join(keys.identities.relays[f"relay{n}"] for n in (1, 3, 4))
    exits = ",".join(keys.identities.relays[f"relay{n}"] for n in (1, 2))
    assert f"TestingDirAuthVoteGuard {guards}\n" in torrc
    assert f"TestingDirAuthVoteExit {exits}\n" in torrc
    time, *bandwidths = (folder / "shared/bandwidths").read_text().splitlines()
    relays = keys.identities.relays
    assert time == "946684800"
    assert {f"node_id=${relays['relay3']} bw=102", f"node_id=${relays['authority1']} bw=0"} <= {*bandwidths}


def test_a_relay_has_its_rate_and_its_keys(written, folder):
    torrc = (folder / "template/hosts/relay2/torrc").read_text()
    assert "BandwidthRate 100000 bytes\nBandwidthBurst 200000 bytes\n" in torrc
    assert "TokenBucketRefillInterval 100 msec\n" in torrc
    assert "TokenBucketRefillPhase 25.0" in torrc
    assert (folder / "template/hosts/relay2/keys/secret_id_key").read_text() == "of relay2\n"


def test_the_layout_tells_what_the_logs_do_not(written, folder, keys):
    layout = read_layout(folder)
    assert layout.clients == {"web1": "web", "web2": "web", "bulk1": "bulk"}
    assert layout.servers == {"11.0.0.12": "server1", "11.0.0.13": "server2"}
    assert layout.relays["relay5"] == keys.identities.relays["relay5"]
    assert layout.bootstrap_ns == BOOTSTRAP_NS


def test_an_onion_service_has_a_tor_and_its_clients_ask_for_its_address(write, run, network, folder):
    service = network.servers[0].model_copy(update={"onion": True})
    client = network.clients[1].model_copy(update={"kind": "onion"})
    clients, servers = (network.clients[0], client, network.clients[2]), (service, network.servers[1])
    changed = network.model_copy(update={"clients": clients, "servers": servers})
    traffic = {**run.traffic, "onion": run.traffic["web"]}
    document = write(run=run.model_copy(update={"traffic": traffic}), network=changed)
    torrc = (folder / "template/hosts/server1/torrc").read_text()
    assert "HiddenServiceDir onion\nHiddenServicePort 80 127.0.0.1:80\n" in torrc
    address = (folder / "template/hosts/server1/onion/hostname").read_text().strip()
    assert f"{address}:80" in (folder / "template/hosts/web2/tgen.graphml").read_text()
    assert address not in (folder / "template/hosts/web1/tgen.graphml").read_text()
    assert read_layout(folder).servers[address] == "server1"
    (_, tor) = document["hosts"]["server1"]["processes"]
    assert Path(tor["path"]).name == "tor"


def test_the_same_run_is_written_in_the_same_bytes_and_a_repeat_has_another_seed_of_shadow(
    write, run, folder
):
    def content(repeat: int) -> tuple[bytes, int, dict[str, Any], dict[Path, bytes]]:
        document = write(run=run.model_copy(update={"repeat": repeat}))
        files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return files.pop(folder / "shadow.yaml"), document["general"].pop("seed"), document, files

    first, same, again, third = (content(repeat) for repeat in (0, 0, 1, 2))
    assert first == same
    seeds = {each[1] for each in (first, again, third)}
    assert len(seeds) == 3 and all(0 <= seed < 2**32 for seed in seeds)
    assert first[2:] == again[2:] == third[2:]


def _torrc_of(host: str, document: dict[str, Any], folder: Path) -> str:
    tor = document["hosts"][host]["processes"][0]
    return (folder / "template/hosts" / host / tor["args"][1]).resolve().read_text()


def test_each_host_runs_its_own_build_with_the_lines_that_are_given_to_it(
    write, run, tools, folder, tmp_path
):
    plain = stand_in_tor(tmp_path / "tors", "0.4.9.5", SERIES_OPTIONS)
    mixed = replace(tools, tors=HostTors(tools.tors.usual, {"relay2": plain, "web2": plain}))
    to_some = UserLines(lines={"CacheDNS": "0", "MaxMemInQueues": "9 MB"}, hosts=("relay2", "web1"))
    given = UserOptions(torrc=(UserLines(lines={"NumCPUs": "2"}), to_some), consensus={"cc_alg": 2})
    asked = run.model_copy(update={"tor": tor_settings("today", {}), "given": given})
    document = write(run=asked, tools=mixed)
    for host in ("relay1", "relay2", "web1", "web2"):
        build = plain if host in ("relay2", "web2") else tools.tors.usual
        tor, text = document["hosts"][host]["processes"][0], _torrc_of(host, document, folder)
        assert tor["path"] == str(build.program)
        assert bool(tor["environment"].keys() - {"TZ"}) == (build is tools.tors.usual)
        assert ("StreamPackaging" in text) == (build is tools.tors.usual)
        last = "\nNumCPUs 2\nCacheDNS 0\nMaxMemInQueues 9 MB\n"
        assert text.endswith(last if host in ("relay2", "web1") else "\nNumCPUs 2\n")
    assert len(list((folder / "shared").glob("client*.torrc"))) == 3
    assert " cc_alg=2 " in _torrc_of("authority1", document, folder)


@pytest.mark.parametrize(("era", "logging"), [("2012", set()), ("today", {"relay1", "relay2"})])
def test_exits_log_the_round_trips_on_which_their_windows_depend(write, run, network, folder, era, logging):
    document = write(run=run.model_copy(update={"tor": tor_settings(era, {})}))
    relays = [relay.name for relay in network.relays]
    told = {
        name
        for name in relays
        if "\nLog [circ]info file round_trips.log\n" in _torrc_of(name, document, folder)
    }
    in_utc = {name for name in relays if "TZ" in document["hosts"][name]["processes"][0]["environment"]}
    assert told == in_utc == logging


def test_too_few_authorities_for_weights_and_a_relay_slower_than_tor_allows_are_refused(write, network):
    fewer = network.model_copy(update={"authorities": network.authorities[:2]})
    slow = network.relays[0].model_copy(update={"rate_bytes_per_s": 20_480})
    slower = network.model_copy(update={"relays": (slow, *network.relays[1:])})
    for refused, said in (
        (fewer, r"authorities: too few .* got 2; accepted: at least 3"),
        (slower, r"relay1\.rate_bytes_per_s: .*got 20480; accepted: at least 76800"),
    ):
        with pytest.raises(InputError, match=said):
            write(network=refused)


def test_one_authority_will_do_where_there_is_one_path(write, network):
    hosts = {
        "relays": network.relays[:3],
        "authorities": (network.authorities[0].model_copy(update={"node": 3}),),
        "clients": (network.clients[0].model_copy(update={"node": 4}),),
        "servers": (network.servers[0].model_copy(update={"node": 5}),),
    }
    assert "authority1" in write(network=network.model_copy(update=hosts))["hosts"]


def test_a_process_that_starts_when_all_is_over_is_refused(tmp_path):
    late = GraphHost(0, "11.0.0.1", [Process("/bin/late", [], 7)])
    with pytest.raises(InputError, match=r"hosts\.slow\.late\.start_time: a process starts when .*before"):
        ShadowSimulation({"slow": late}, stop_ns=7, seed=1).text(tmp_path)


SECOND_NS = 10**9


def program(command, hosts, **does):
    usual = {"begin_ns": 0, "until_ns": None, "ends": False, "keeps": (), "keeps_most_bytes": 1}
    return RunProgram(command=command, hosts=hosts, **{**usual, **does})


def own(name, place, torrc=None):
    link = {"down_bytes_per_s": 10**6, "up_bytes_per_s": 10**6}
    return ProgramHost(name=name, place=place, access_us=7, torrc=torrc, **link)


@pytest.fixture
def files_of(write: Write, run, network, folder) -> Callable[..., dict[str, str]]:
    """What is written of the run with changes, by file."""

    def make(network=network, **changes: object) -> dict[str, str]:
        write(run=run.model_copy(update=changes), network=network)
        files = [file for file in folder.rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_text() for file in files}

    return make


def test_hosts_of_programs_come_beside_hosts_that_stay_byte_for_byte(files_of, network, keys):
    without = files_of()
    hosts = (own("program1", 0), own("program2", 1, {"EntryNodes": "{fingerprint:relay3}"}))
    times = {"begin_ns": 5 * SECOND_NS, "until_ns": 9 * SECOND_NS}
    programs = (
        program(["sleep", "{number}"], ("program1", "program2"), **times),
        program(["true"], ("program2",), ends=True),
    )
    of_network = network.model_copy(update={"program_hosts": hosts})
    beside = files_of(of_network, programs=RunPrograms(programs=programs, hosts=hosts))
    plain, flooded = (json.loads(each["shadow.yaml"]) for each in (without, beside))
    added = {name: flooded["hosts"].pop(name) for name in ("program1", "program2")}
    assert flooded == plain
    assert beside["graph.gml"].startswith(without["graph.gml"].partition("  edge")[0])
    torrc = beside.pop("template/hosts/program2/torrc")
    for files in (beside, without):
        del files["shadow.yaml"], files["graph.gml"]
    assert beside == without
    (sleep,) = added["program1"]["processes"]
    assert (sleep["path"], sleep["args"]) == (shutil.which("sleep"), ["1"])
    assert sleep["start_time"] == f"{BOOTSTRAP_NS + 5 * SECOND_NS} ns"
    assert sleep["shutdown_time"] == f"{BOOTSTRAP_NS + 9 * SECOND_NS} ns"
    assert sleep["expected_final_state"] == {"signaled": "SIGTERM"}
    tor, _, true = added["program2"]["processes"]
    assert (Path(tor["path"]).name, true["expected_final_state"]) == ("tor", {"exited": 0})
    lines = {"SocksPort 9150", "ControlPort 9151", f"EntryNodes {keys.identities.relays['relay3']}"}
    assert lines <= set(torrc.splitlines())


def test_a_program_beside_a_client_gets_ports_in_the_torrc_of_that_client_alone(files_of):
    programs = RunPrograms(programs=(program(["true", "{socks_port}"], ("web2",)),))
    texts = files_of(programs=programs)
    hosts = json.loads(texts["shadow.yaml"])["hosts"]
    torrcs = {
        name: texts[f"shared/{Path(hosts[name]['processes'][0]['args'][1]).name}"]
        for name in ("web1", "web2")
    }
    assert "SocksPort 9150" in torrcs["web2"].splitlines()
    assert "9150" not in torrcs["web1"]
    assert torrcs["web1"].splitlines() == [line for line in torrcs["web2"].splitlines() if "91" not in line]
    names = [Path(one["path"]).name for one in hosts["web2"]["processes"]]
    assert names == ["tor", "oniontrace", "tgen", "true"]


def test_packets_and_options_of_shadow_are_asked_for_at_the_hosts_named(files_of):
    host = "server1"
    options = ShadowOptions(general={"log_level": "info"}, hosts={host: {"pcap_capture_size": "64 B"}})
    files = files_of(tracing=Tracing(packets=(host,)), shadow=options)
    document = json.loads(files["shadow.yaml"])
    options = {name: each["host_options"] for name, each in document["hosts"].items() if each["host_options"]}
    assert options == {host: {"pcap_enabled": True, "pcap_capture_size": "64 B"}}
    assert document["general"]["log_level"] == "info"
