"""A network of tornettools is simulated as it is, but for its tors, their options and the seed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.made_tornet import CLIENTS
from tests.made_tornet import tornet as simulated_tornet
from tests.stand_ins import stand_in_tor
from tests.synthetic_tornet import AUTHORITIES, write_tornet
from torsweep.config.experiment import load_experiment
from torsweep.config.network import NetworkConfig
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import RunSpec, UserLines, UserOptions
from torsweep.engines.shadow.read.tornettools import read_logs
from torsweep.engines.shadow.run import SHADOW_FOLDER, write_run_directory
from torsweep.engines.shadow.simulate import ShadowSettings
from torsweep.engines.shadow.tools import ShadowTools
from torsweep.engines.shadow.tornet_run import write_tornet_run
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE
from torsweep.network.tornet import write_tornet as write_network_of
from torsweep.network.tornet_folder import read_tornet
from torsweep.provenance import sha256_of_file

TEMPLATE = "template/hosts"
SETTINGS = ShadowSettings(parallelism=1)


@pytest.fixture
def tornet(tmp_path: Path) -> Path:
    return write_tornet(tmp_path / "tornet")


@pytest.fixture
def given_run(tmp_path: Path, tornet: Path) -> RunSpec:
    counts = {"relays": 4, "web_clients": 0, "bulk_clients": 0, "servers": 2}
    config = NetworkConfig.model_validate({"tornettools": [str(tornet)], **counts})
    write_network_of(config, 3, tmp_path / "network")
    experiment = load_experiment("refill_sweep", {"warm_up": "3 min"})
    settings = run_settings(experiment, "shadow", "today", experiment.variant(""))
    return RunSpec(
        **{**dict(settings), "duration_ns": 900 * 10**9},
        network="../network",
        network_sha256=sha256_of_file(tmp_path / "network" / NETWORK_FILE),
        seed=3,
    )


def written(run: RunSpec, tmp_path: Path, tools: ShadowTools) -> tuple[Path, dict[str, Any]]:
    """The folder that Shadow reads, and its configuration."""
    (tmp_path / "run").mkdir(exist_ok=True)
    run.write(tmp_path / "run")
    write_run_directory(tmp_path / "run", SETTINGS, tools, lambda _: None)
    folder = tmp_path / "run" / SHADOW_FOLDER
    return folder, json.loads((folder / "shadow.yaml").read_text())


def test_nothing_changes_but_programs_seed_and_end(given_run, tornet, tmp_path, tools):
    folder, found = written(given_run, tmp_path, tools)
    expected = json.loads(json.dumps(read_tornet(tornet).document))
    expected["general"] |= {
        "seed": 4,
        "stop_time": "900 s",
        "parallelism": 1,
        "data_directory": str(folder / "data"),
        "template_directory": str(folder / "template"),
    }
    expected["network"]["graph"]["file"]["path"] = str(tornet / "conf/graph.gml.xz")
    expected["experimental"] = {"use_cpu_pinning": False}
    programs = {"tor": tools.tors.usual.program, "tgen": tools.tgen, "oniontrace": tools.oniontrace}
    for host in expected["hosts"].values():
        for process in host["processes"]:
            process["path"] = str(programs[Path(process["path"]).name])
    assert found == expected
    for part, copy in (("conf", "conf"), ("shadow.data.template/hosts", TEMPLATE)):
        for file in (tornet / part).rglob("*"):
            if file.is_file() and not file.name.startswith("graph"):
                assert (folder / copy / file.relative_to(tornet / part)).read_bytes() == file.read_bytes()


def with_kist(run: RunSpec, *hosts: str) -> RunSpec:
    lines = UserLines(lines={"KISTSchedRunInterval": "1 msec"}, hosts=hosts)
    return run.model_copy(update={"given": UserOptions(torrc=(lines,))})


def test_lines_stand_last_in_the_files_of_the_hosts_that_get_them(given_run, tmp_path, tools):
    hosts = {"relay2exit", "markovclient1exit"}
    folder, _ = written(with_kist(given_run, *hosts), tmp_path, tools)
    torrcs = {file.parent.name: file.read_text() for file in (folder / TEMPLATE).glob("*/torrc")}
    told = {host for host, text in torrcs.items() if text.endswith("\nKISTSchedRunInterval 1 msec\n")}
    assert told == hosts
    assert not any("KIST" in text for host, text in torrcs.items() if host not in told)


def test_a_file_that_is_a_link_is_not_written_through(given_run, tornet, tmp_path, tools):
    torrc = tornet / "shadow.data.template/hosts/relay2exit/torrc"
    own = torrc.rename(tmp_path / "own.torrc")
    torrc.symlink_to(own)
    before = own.read_bytes()
    folder, _ = written(with_kist(given_run, "relay2exit"), tmp_path, tools)
    assert "KIST" in (folder / TEMPLATE / "relay2exit/torrc").read_text()
    assert own.read_bytes() == before


def test_parameters_join_those_that_the_network_votes_for(given_run, tmp_path, tools):
    run = given_run.model_copy(update={"given": UserOptions(consensus={"cc_alg": 2, "cfx_enabled": 0})})
    folder, _ = written(run, tmp_path, tools)
    for name in AUTHORITIES:
        torrc = (folder / TEMPLATE / name / "torrc").read_text()
        told = ["/ConsensusParams", "ConsensusParams cc_alg=2 circwindow=900 cfx_enabled=0"]
        assert torrc.splitlines()[-2:] == told
    assert "ConsensusParams" not in (folder / TEMPLATE / "relay2exit/torrc").read_text()


def test_hosts_of_another_build_run_it(given_run, tmp_path, tools):
    other = stand_in_tor(tmp_path / "others", "0.4.9.12")
    mixed = replace(tools, tors=replace(tools.tors, others={"relay2exit": other}))
    _, found = written(given_run, tmp_path, mixed)
    paths = {name: host["processes"][0]["path"] for name, host in found["hosts"].items() if "relay" in name}
    assert {name for name, path in paths.items() if path == str(other.program)} == {"relay2exit"}


def test_a_network_that_has_changed_since_is_refused(given_run, tornet, tmp_path, tools):
    (tornet / "conf/tor.client.torrc").write_text("SocksPort 9052\n")
    with pytest.raises(InputError, match=r"tornet: has changed since this network was taken from it"):
        written(given_run, tmp_path, tools)


@pytest.mark.parametrize("start", ["300", "5 min", "300 s"])
def test_a_simulation_that_ends_before_its_clients_start_is_refused(
    given_run, tornet, tmp_path, tools, start
):
    short = given_run.model_copy(update={"duration_ns": 300 * 10**9})
    file = tornet / "shadow.config.yaml"
    file.write_text(file.read_text().replace("start_time: 300\n", f"start_time: {start}\n"))
    with pytest.raises(InputError, match=r"starts when the simulation is over"):
        write_tornet_run(short, read_tornet(tornet), tools, SETTINGS, tmp_path / "shadow")


def test_a_folder_of_a_host_that_is_not_simulated_is_not_read(tmp_path):
    hosts = simulated_tornet(tmp_path / "simulated") / "shadow.data/hosts"
    (hosts / "perfclient9exit").mkdir()
    with pytest.raises(InputError, match="perfclient9exit: has no log of tgen"):
        read_logs(hosts)
    assert read_logs(hosts, CLIENTS).clients == ["markovclient1exit", "perfclient1exit"]
