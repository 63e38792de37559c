"""Preparing a run: what a network must be, and that old results never stand beside new settings."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.prepared_runs import prepared_run, sampled_network
from tests.small_network import equal_rtts, small_network
from tests.stand_ins import executable
from tests.synthetic import finish_run
from tests.unit.conftest import POSITIONS
from torsweep.config.experiment import load_experiment
from torsweep.config.network import load_network_config
from torsweep.config.tors import TorSource
from torsweep.config.variant import Variant
from torsweep.engines import prepare
from torsweep.engines.prepare import build_run
from torsweep.engines.registry import ENGINES
from torsweep.engines.run_settings import read_stamps, run_settings, tor_builds
from torsweep.engines.run_spec import finished_run, read_run, write_run
from torsweep.errors import InputError, OutputError, ToolMissing
from torsweep.machine import read_machine
from torsweep.network.model import write_network
from torsweep.storage.folders import RUN_FOLDER, folder_claimed


def _edit(network, **changes):
    file = network / "network.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _finish(directory):
    """Leave what an engine leaves."""
    (directory / "streams.parquet").write_text("rows")
    finish_run(directory, engine="cellsim", engine_version="1", wall_s=2.0)


def test_more_guards_than_relays_that_can_be_one_are_refused(network, tmp_path):
    # Five relays, but one is a middle and one only an exit.
    with pytest.raises(InputError, match=r"guards: a client keeps more guards.*, got 4; accepted: at most 3"):
        prepared_run(network, tmp_path / "run", "guards=4")
    assert prepared_run(network, tmp_path / "run", "guards=3").tor.guards == 3


PLANETLAB = {"latency": {"name": "planetlab", "file": None, "use": "fit"}}


@pytest.mark.parametrize(
    ("config", "variant", "said"),
    [
        ({}, "loss=0", None),
        ({"loss": {"share": 0.01}}, "loss=0.01", None),
        ({}, "loss=0.01", r"loss\.share: .*another level.*; accepted: 0\.01"),
        ({"loss": {"share": 0.01}}, "loss=0", r"loss\.share: .*another level.*, got 0\.01; accepted: 0\.0"),
        ({"load": 1}, "load=1", None),
        ({"load": 1}, "load=0.5", r"load: the network was sampled at another level than the variant's"),
        ({"servers": 9}, "network.servers=9", None),
        ({}, "network.server_bandwidth=100Mbitps", None),
        ({}, "network.servers=9", r"servers: .*another level.*, got 20; accepted: 9"),
        (PLANETLAB, "latency=planetlab", None),
        (PLANETLAB, "latency=atlas-2023", r"latency: .*another level.*got 'planetlab'; accepted: atlas-2023"),
    ],
)
def test_a_network_is_at_the_levels_asked_for(network, tmp_path, config, variant, said):
    _edit(network, config={**load_network_config("ci").model_dump(mode="json"), **config})
    with pytest.raises(InputError, match=said) if said else contextlib.nullcontext():
        prepared_run(network, tmp_path / "run", variant)


def test_the_only_path_of_a_chain_is_given_whatever_the_era_says_about_guards(tmp_path):
    sampled_network(tmp_path / "chain", "starvation")
    run = prepared_run(tmp_path / "chain", tmp_path / "run", "streams=13+cells=2000", of="starvation")
    assert run.paths == {"bulk1": (("relay1", "relay2", "relay3"),)}
    assert run.tor.guards == 3
    assert (run.traffic["bulk"].parallel_streams, run.traffic["bulk"].response_bytes) == (13, 2000 * 498)
    assert set(run.traffic) == {"bulk"}


def test_clients_that_an_experiment_says_nothing_about_are_refused(network, tmp_path):
    experiment = load_experiment("starvation")
    settings = run_settings(experiment, "cellsim", "2012", experiment.variant("guards=3"))
    with pytest.raises(InputError, match=r"traffic: experiment starvation does not say what .* got 'web'"):
        build_run(settings, Variant(()), network, tmp_path / "run")


def test_what_is_no_network_is_refused(network, tmp_path):
    with pytest.raises(InputError, match=r"no network\.json in it"):
        prepared_run(tmp_path, tmp_path / "run")
    for version, said in ((2, "the network is of an older version: sample it anew"), (4, "is not accepted")):
        _edit(network, format_version=version)
        with pytest.raises(InputError, match=f"format_version: {said}.*, got {version}; accepted: 3"):
            prepared_run(network, tmp_path / "run")
    _edit(network, format_version=3)
    whole = (network / "latency.npy").read_bytes()
    for content in (b"", whole[:-4]):
        (network / "latency.npy").write_bytes(content)
        with pytest.raises(InputError, match=r"latency\.npy: is no whole file of NumPy arrays"):
            prepared_run(network, tmp_path / "run")
    (network / "latency.npy").unlink()
    with pytest.raises(InputError, match=r"latency\.npy: is missing"):
        prepared_run(network, tmp_path / "run")


def test_the_same_run_keeps_its_results_and_another_takes_them_away(network, tmp_path):
    directory = tmp_path / "run"
    assert write_run(prepared_run(network, directory), directory)
    _finish(directory)
    assert not write_run(prepared_run(network, directory), directory)
    assert finished_run(directory)
    assert write_run(prepared_run(network, directory, "refill_interval=10ms"), directory)
    assert not (directory / "provenance.json").exists()
    assert not (directory / "streams.parquet").exists()


def test_a_directory_where_an_engine_works_is_refused_or_waited_for(network, tmp_path):
    directory = tmp_path / "run"
    run = prepared_run(network, directory)
    claimed, release = threading.Event(), threading.Event()

    def engine():
        with folder_claimed(directory, RUN_FOLDER, wait=False):
            claimed.set()
            release.wait(10)

    working = threading.Thread(target=engine)
    working.start()
    claimed.wait(10)
    with pytest.raises(OutputError, match="another run is under way in this folder"):
        write_run(run, directory)
    assert not (directory / "run.json").exists()
    threading.Timer(0.2, release.set).start()
    assert write_run(run, directory, wait=True)
    working.join()


def test_a_finished_run_is_told_from_a_prepared_and_a_stale_one(network, tmp_path):
    directory = tmp_path / "run"
    write_run(prepared_run(network, directory), directory)
    with pytest.raises(InputError, match="the run is not finished"):
        finished_run(directory)
    _finish(directory)
    assert finished_run(directory)["wall_s"] == 2.0
    prepared_run(network, directory, "refill_interval=10ms").write(directory)
    with pytest.raises(InputError, match=r"run\.json: has changed since the engine ran"):
        finished_run(directory)


def test_a_run_behind_a_symbolic_link_finds_its_network(network, tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "results").symlink_to(tmp_path / "far" / "away")
    directory = tmp_path / "results" / "run"
    write_run(prepared_run(network, directory), directory)
    assert (directory / read_run(directory).network / "network.json").is_file()


def test_a_run_of_the_model_says_its_transport_and_one_of_another_engine_has_none(network, tmp_path):
    usual = prepared_run(network, tmp_path / "run").transport
    assert usual.model_dump() == {"tcp": "linux", "link_queue": {"kind": "droptail", "bytes": 75_000}}
    asked = prepared_run(network, tmp_path / "run", "tcp=linux_6_18+link_queue=codel")
    assert asked.transport.model_dump() == {"tcp": "linux_6_18", "link_queue": {"kind": "codel"}}
    write_run(asked, tmp_path / "asked")
    assert read_run(tmp_path / "asked").transport == asked.transport
    alone = prepared_run(network, tmp_path / "run", "link_queue=droptail_30KB").transport
    assert (alone.tcp, alone.link_queue.bytes) == ("linux", 30_000)
    experiment = load_experiment("refill_sweep")
    assert run_settings(experiment, "emulation", "2012", experiment.variant("")).transport is None


@pytest.mark.parametrize(
    ("engine", "levels", "said"),
    [
        ("cellsim", "refill_mode=burst+refill_remainder=kept", "refill_remainder: has no effect"),
        ("shadow", "nagle=off", "nagle: has no effect"),
        ("emulation", "nagle=off", None),
        ("cellsim", "conflux=on", "conflux: is not in the model, got 'on'; accepted: engine "),
        ("shadow", "conflux=on+congestion=fixed", "conflux: has no effect under this congestion"),
        ("shadow", "tcp=linux", "tcp: is of the model alone.*accepted: engine cellsim"),
        ("emulation", "tcp=linux", "tcp: is of the model alone.*accepted: engine cellsim"),
    ],
)
def test_a_level_that_changes_nothing_is_refused(engine, levels, said):
    experiment = load_experiment("scheduler_choice")
    variant = experiment.variant(levels)
    if said is None:
        assert not run_settings(experiment, engine, "today", variant).tor.nagle
        return
    with pytest.raises(InputError, match=said):
        run_settings(experiment, engine, "today", variant)


def test_a_run_says_what_the_perf_clients_of_its_network_do(network, tmp_path):
    assert set(prepared_run(network, tmp_path / "run").traffic) == {"web", "bulk"}
    made = small_network(POSITIONS, ["web1", "web2"], config={"relays": 5, "load": 1.0})
    perf = made.clients[1].model_copy(update={"kind": "perf_1mib"})
    made = made.model_copy(update={"clients": (made.clients[0], perf)})
    write_network(made, equal_rtts(made), tmp_path / "measured")
    run = prepared_run(tmp_path / "measured", tmp_path / "run")
    assert set(run.traffic) == {"web", "bulk", "perf_1mib"}
    assert run.traffic["perf_1mib"].response_bytes == 2**20
    assert run.traffic["perf_1mib"].timeout_ns == 60 * 10**9


def test_onion_services_are_not_in_the_model_and_their_clients_have_no_common_paths(tmp_path):
    network, changes = tmp_path / "onions", {"web_clients": 2, "bulk_clients": 1, "servers": 2}
    sampled_network(network, "ci", onion_clients=2, onion_servers=1, **changes)
    said = r"onion_servers: onion services are not in the model, got 'cellsim'"
    with pytest.raises(InputError, match=said):
        prepared_run(network, tmp_path / "run")
    experiment = load_experiment("refill_sweep", {"pairing": "paths"})
    traffic = experiment.traffic.model_copy(update={"onion": experiment.traffic.web})
    experiment = experiment.model_copy(update={"traffic": traffic})
    run = prepared_run(network, tmp_path / "run", of=experiment, engine="emulation", era="today")
    assert set(run.paths) == {"web1", "web2", "bulk1"}
    assert run.traffic["onion"] == run.traffic["web"]


BUNDLES = {
    "dns": {"torrc": {"CacheDNS": 0}, "consensus": {"cc_alg": 0}, "on": {"position": "exit"}},
    "all": {"torrc": {"CacheDNS": 0}},
}


def test_a_bundle_is_given_to_the_hosts_that_it_is_for_and_to_no_model(network, tmp_path):
    def given(level, engine="shadow"):
        return prepared_run(network, tmp_path / "run", f"options={level}", engine=engine, options=BUNDLES)

    run = given("dns")
    assert (run.given_to("relay2"), run.given_to("relay1")) == (["CacheDNS 0"], [])
    assert run.given.consensus == {"cc_alg": 0}
    assert given("all").given_to("web1") == ["CacheDNS 0"]
    assert "given" not in json.loads(given("default").text())
    said = r"options: is of tor itself, .* got 'cellsim'; accepted: engine emulation or engine shadow"
    with pytest.raises(InputError, match=said):
        given("dns", "cellsim")


TORS = {
    "new": {"git": "../tor"},
    "new_exits": {"mix": {"new": 1 / 3, "stock": 2 / 3}, "on": {"position": ["guard", "exit"]}},
    "again": {"same": "new_exits"},
}
BUILDS = {"stock": "0.4.9.3-aaaaaaaaaaaa", "new": "0.4.9.3-bbbbbbbbbbbb"}


def _of_tors(network, directory, level, builds=BUILDS, tors=TORS):
    grid = {"tors": tors, "knobs.tor": ["stock", level], "baseline.tor": "stock"}
    return prepared_run(network, directory, f"tor={level}", engine="shadow", builds=builds, **grid)


def test_a_mix_has_the_builds_of_its_hosts_and_a_repeat_only_says_so(network, tmp_path):
    alone = _of_tors(network, tmp_path / "run", "new")
    assert (alone.tor_build, alone.other_builds, alone.repeat) == (BUILDS["new"], {}, 0)
    mixed = _of_tors(network, tmp_path / "run", "new_exits")
    ((build, hosts),) = mixed.other_builds.items()
    assert (mixed.tor_build, build, len(hosts)) == (BUILDS["stock"], BUILDS["new"], 1)
    assert {"relay2", "relay3", "relay4"} > set(hosts)
    again = _of_tors(network, tmp_path / "run", "again")
    changed = {"repeat": 1, "variant": {**mixed.variant, "tor": "again"}}
    assert again == mixed.model_copy(update=changed)

    # The order of a mix in the file decides nothing.
    turned = {**TORS["new_exits"], "mix": dict(reversed(TORS["new_exits"]["mix"].items()))}
    assert mixed == _of_tors(network, tmp_path / "run", "new_exits", tors={**TORS, "new_exits": turned})


def test_a_mix_of_one_build_is_refused(network, tmp_path):
    with pytest.raises(InputError, match=r"tors\.new_exits\.mix: two tors of the mix are one build"):
        _of_tors(network, tmp_path / "run", "new_exits", dict.fromkeys(BUILDS, BUILDS["new"]))


def test_the_builds_of_a_run_are_those_that_files_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new").write_text("build of tor: 0.4.9.3-bbbbbbbbbbbb\n")
    (tmp_path / "tor").write_text("0")
    sources = {"stock": TorSource(source="debian"), "new": TorSource(program="tor")}
    stamps = read_stamps(["new", "stock=new"], "new")
    assert stamps == {"new": Path("new"), "stock": Path("new")}
    assert tor_builds(ENGINES["shadow"], sources, ("new",), {"new": Path("new")}) == {
        "new": "0.4.9.3-bbbbbbbbbbbb"
    }
    assert tor_builds(ENGINES["cellsim"], sources, ("new",), stamps) == {}
    with pytest.raises(InputError, match="--tor: is no tor of this run, got 'stock'; accepted: new"):
        tor_builds(ENGINES["shadow"], sources, ("new",), stamps)
    with pytest.raises(ToolMissing, match=r"tors\.new: is not built; `torsweep tor build --program tor --st"):
        tor_builds(ENGINES["shadow"], sources, ("new",), {})


def test_a_bundle_that_a_build_refuses_ends_even_the_runs_of_other_bundles(
    torsweep, network, tmp_path, monkeypatch
):
    program = executable(tmp_path / "tor", '#!/bin/sh\ngrep -q CacheDNSS "$3" && exit 1\necho CacheDNS\n')
    built = SimpleNamespace(program=program, is_arti=False)
    monkeypatch.setattr("torsweep.tor.builds.find_build", lambda version: built)
    (tmp_path / "built").write_text("build of tor: 0.4.9.3-aaaaaaaaaaaa\n")
    asked = ["run", "prepare", "refill_sweep", "--network", network, "--out", tmp_path / "run"]
    asked += ["--engine", "shadow", "--tor", tmp_path / "built"]
    bundles = "{on_one: {torrc: {CacheDNS: 0}, on: {names: [web1]}}, bad: {torrc: {CacheDNSS: 0}}}"
    asked += ["--set", f"options={bundles}", "--set", "baseline.options=on_one"]
    code, _, error = torsweep(*asked, "--set", "knobs.options=[on_one, bad]")
    assert (code, error.count("\n")) == (2, 1)
    assert "torsweep: options.bad.torrc: CacheDNSS 0: tor refuses it" in error
    code, said, _ = torsweep(*asked, "--set", "knobs.options=[on_one, default]")
    assert code == 0
    assert "\n  CacheDNS: 1 host\n" in said


@pytest.fixture
def prepared(torsweep, network, tmp_path):
    """Runs ``torsweep run prepare`` for this engine or another; its exit code, output and error."""

    def run(*options: str, engine: str = "cellsim"):
        words = ("run", "prepare", "refill_sweep", "--network", network, "--engine", engine)
        return torsweep(*words, "--out", tmp_path / "run", *options)

    return run


def test_prepare_writes_a_run_and_says_which(prepared, tmp_path):
    code, said, _ = prepared("--variant", "circuit_policy=round_robin+refill_interval=10ms")
    assert code == 0
    assert "prepared: refill_interval=10ms+circuit_policy=round_robin; era 2012; engine cellsim" in said
    assert json.loads((tmp_path / "run/run.json").read_text())["seed"] == 7


def test_a_run_that_takes_more_memory_than_there_is_is_refused(prepared, tmp_path, monkeypatch):
    small = replace(read_machine(), available_bytes=10**6)
    monkeypatch.setattr(prepare, "read_machine", lambda: small)
    code, _, said = prepared()
    assert (code, said.count("\n")) == (2, 1)
    assert "a run in cellsim takes 0.0 GB of memory, and 0.0 GB are available; accepted: a network" in said
    assert not (tmp_path / "run").exists()


def test_settings_replace_keys_of_the_experiment(prepared, tmp_path):
    sets = ("--set", "warm_up=2 s", "--set", "traffic.web.response=50 KiB", "--era", "today")
    assert prepared(*sets, engine="auto")[0] == 0
    run = json.loads((tmp_path / "run/run.json").read_text())
    assert (run["warm_up_ns"], run["traffic"]["web"]["response_bytes"]) == (2_000_000_000, 51_200)
    assert run["era"] == "today"


def test_a_setting_without_a_value_is_refused_in_one_line(prepared, tmp_path):
    code, _, error = prepared("--set", "warm_up")
    assert (code, error.count("\n")) == (2, 1)
    assert "--set: is no setting, got 'warm_up'; accepted: KEY=VALUE" in error
    assert not (tmp_path / "run/run.json").exists()
