"""Programs in shadow.yaml: hosts and processes beside those of the network, which stay as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from torsweep.config.shadow_options import ShadowOptions
from torsweep.config.tracing import Tracing
from torsweep.engines.run_spec import RunProgram, RunPrograms
from torsweep.engines.shadow.directory import write_directory
from torsweep.engines.shadow.simulate import BOOTSTRAP_NS, ShadowSettings
from torsweep.network.model import ProgramHost

SECOND_NS = 10**9


def program(command, hosts, **does):
    usual = {"begin_ns": 0, "until_ns": None, "ends": False, "keeps": (), "keeps_most_bytes": 1}
    return RunProgram(command=command, hosts=hosts, **{**usual, **does})


def own(name, place, torrc=None):
    link = {"down_bytes_per_s": 10**6, "up_bytes_per_s": 10**6}
    return ProgramHost(name=name, place=place, access_us=7, torrc=torrc, **link)


@pytest.fixture
def written(run, network, rtt_us, keys, tools, tmp_path) -> Callable[..., dict[str, str]]:
    """What :func:`write_directory` writes, by file, of the run with changes."""

    def write(network=network, **changes: object) -> dict[str, str]:
        folder, asked = tmp_path / "run" / "shadow", run.model_copy(update=changes)
        write_directory(asked, network, network.latencies(rtt_us), keys, tools, ShadowSettings(), folder)
        files = [file for file in folder.rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_text() for file in files}

    return write


def test_hosts_of_programs_come_beside_hosts_that_stay_byte_for_byte(written, network, keys):
    without = written()
    hosts = (own("program1", 0), own("program2", 1, {"EntryNodes": "{fingerprint:relay3}"}))
    times = {"begin_ns": 5 * SECOND_NS, "until_ns": 9 * SECOND_NS}
    programs = (
        program(["sleep", "{number}"], ("program1", "program2"), **times),
        program(["true"], ("program2",), ends=True),
    )
    of_network = network.model_copy(update={"program_hosts": hosts})
    beside = written(of_network, programs=RunPrograms(programs=programs, hosts=hosts))
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


def test_a_program_beside_a_client_gets_ports_in_the_torrc_of_that_client_alone(written):
    programs = RunPrograms(programs=(program(["true", "{socks_port}"], ("web2",)),))
    texts = written(programs=programs)
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


def test_packets_and_options_of_shadow_are_asked_for_at_the_hosts_named(written):
    host = "server1"
    options = ShadowOptions(general={"log_level": "info"}, hosts={host: {"pcap_capture_size": "64 B"}})
    files = written(tracing=Tracing(packets=(host,)), shadow=options)
    document = json.loads(files["shadow.yaml"])
    options = {name: each["host_options"] for name, each in document["hosts"].items() if each["host_options"]}
    assert options == {host: {"pcap_enabled": True, "pcap_capture_size": "64 B"}}
    assert document["general"]["log_level"] == "info"
