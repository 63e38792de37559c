"""Programs in shadow.yaml: hosts and processes of their own beside those of the network, which stay as they
are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

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


def written(run, network, rtt_us, keys, tools, folder: Path) -> dict[str, str]:
    """What :func:`write_directory` writes, by file."""
    write_directory(run, network, network.latencies(rtt_us), keys, tools, ShadowSettings(), folder)
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_hosts_of_programs_come_beside_hosts_that_stay_byte_for_byte(
    run, network, rtt_us, keys, tools, tmp_path
):
    folder = tmp_path / "run" / "shadow"
    without = written(run, network, rtt_us, keys, tools, folder)
    hosts = (own("program1", 0), own("program2", 1, {"EntryNodes": "{fingerprint:relay3}"}))
    programs = (
        program(
            ["sleep", "{number}"], ("program1", "program2"), begin_ns=5 * SECOND_NS, until_ns=9 * SECOND_NS
        ),
        program(["true"], ("program2",), ends=True),
    )
    of_run = run.model_copy(update={"programs": RunPrograms(programs=programs, hosts=hosts)})
    of_network = network.model_copy(update={"program_hosts": hosts})
    beside = written(of_run, of_network, rtt_us, keys, tools, folder)
    plain, flooded = (json.loads(each["shadow.yaml"]) for each in (without, beside))
    added = {name: flooded["hosts"].pop(name) for name in ("program1", "program2")}
    assert flooded == plain
    assert beside["graph.gml"].startswith(without["graph.gml"].partition("  edge")[0])
    own_files = {"shadow.yaml", "graph.gml", "template/hosts/program2/torrc"}
    assert {name: text for name, text in beside.items() if name not in own_files} == {
        name: text for name, text in without.items() if name not in own_files
    }
    (sleep,) = added["program1"]["processes"]
    assert (sleep["path"], sleep["args"]) == (shutil.which("sleep"), ["1"])
    assert sleep["start_time"] == f"{BOOTSTRAP_NS + 5 * SECOND_NS} ns"
    assert sleep["shutdown_time"] == f"{BOOTSTRAP_NS + 9 * SECOND_NS} ns"
    assert sleep["expected_final_state"] == {"signaled": "SIGTERM"}
    tor, _, true = added["program2"]["processes"]
    assert (Path(tor["path"]).name, true["expected_final_state"]) == ("tor", {"exited": 0})
    lines = beside["template/hosts/program2/torrc"].splitlines()
    assert {"SocksPort 9150", "ControlPort 9151", f"EntryNodes {keys.identities.relays['relay3']}"} <= set(
        lines
    )


def test_a_program_beside_a_client_gets_ports_in_the_torrc_of_that_client_alone(
    run, network, rtt_us, keys, tools, tmp_path
):
    programs = RunPrograms(programs=(program(["true", "{socks_port}"], ("web2",)),))
    texts = written(
        run.model_copy(update={"programs": programs}),
        network,
        rtt_us,
        keys,
        tools,
        tmp_path / "run" / "shadow",
    )
    hosts = json.loads(texts["shadow.yaml"])["hosts"]
    torrcs = {
        name: texts[f"shared/{Path(hosts[name]['processes'][0]['args'][1]).name}"]
        for name in ("web1", "web2")
    }
    assert "SocksPort 9150" in torrcs["web2"].splitlines()
    assert "9150" not in torrcs["web1"]
    assert torrcs["web1"].splitlines() == [line for line in torrcs["web2"].splitlines() if "91" not in line]
    assert [Path(one["path"]).name for one in hosts["web2"]["processes"]] == [
        "tor",
        "oniontrace",
        "tgen",
        "true",
    ]


def test_packets_and_options_of_shadow_are_asked_for_at_the_hosts_named(
    run, network, rtt_us, keys, tools, tmp_path
):
    host = network.servers[0].name
    asked = {
        "tracing": Tracing(packets=(host,)),
        "shadow": ShadowOptions(general={"log_level": "info"}, hosts={host: {"pcap_capture_size": "64 B"}}),
    }
    files = written(run.model_copy(update=asked), network, rtt_us, keys, tools, tmp_path / "run" / "shadow")
    document = json.loads(files["shadow.yaml"])
    options = {name: each["host_options"] for name, each in document["hosts"].items() if each["host_options"]}
    assert options == {host: {"pcap_enabled": True, "pcap_capture_size": "64 B"}}
    assert document["general"]["log_level"] == "info"
