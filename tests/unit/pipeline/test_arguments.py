"""What commands are told, what makes a job anew, and what a run asks for of a machine."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from torsweep.config.network import load_network_config
from torsweep.engines.registry import find_engine
from torsweep.pipeline import paths as paths_module
from torsweep.pipeline.arguments import Arguments
from torsweep.pipeline.paths import Paths

ROOT = Path(__file__).parents[3]
PLAN = {"experiment": "refill_sweep", "engine": "cellsim", "era": "2012", "network": "ci", "plan": "main"}


def _arguments(**config):
    return Arguments(Paths(config))


@pytest.mark.parametrize(("plan", "replicates"), [("main", 1), ("loads", 3)])
def test_a_script_is_told_the_folders_of_the_runs(plan, replicates):
    wildcards = SimpleNamespace(**{**PLAN, "plan": plan})
    paths = Paths({"replicates": replicates})
    folders = [file.rpartition("/")[0] for file in paths.runs(wildcards)]
    assert Arguments(paths).runs(wildcards) == folders


def test_small_scales_have_more_networks_of_their_own():
    wildcards = SimpleNamespace(**{**PLAN, "experiment": "scale", "era": "today", "network": "live"})
    paths = Paths({})
    numbers, scales = paths.experiment("scale").replicates["scale"], paths.experiment("scale").knobs["scale"]
    found = Counter(file.split("/")[2] for file in paths.networks(wildcards))
    assert found == {f"live+scale={scale}": numbers[scale] for scale in scales}
    assert len(set(Paths({"replicates": 1}).networks(wildcards))) == len(scales)
    assert Arguments(paths).numbers_by_level(wildcards) == {"scale": numbers}
    assert Arguments(Paths({"replicates": 1})).numbers_by_level(wildcards) == {}


def _run(**changes):
    run = {**PLAN, "seed": "1", "variant": "refill_interval=10ms+circuit_policy=ewma"}
    return SimpleNamespace(**{**run, **changes})


def test_what_changes_run_json_changes_the_parameters_of_the_rule():
    usual = _arguments().run_settings(_run())
    assert _arguments(replicates=2, network="ci").run_settings(_run()) == usual
    assert _arguments(measured="1 min").run_settings(_run()) != usual
    assert _arguments().run_settings(_run(era="today")) != usual
    assert _arguments(measured="1 min", warm_up="9 s").run_durations(_run()) == (
        "--set 'warm_up=9 s' --set 'measured=60 s'"
    )


def _finished(monkeypatch, tmp_path, warm_up_s, measured_s):
    monkeypatch.setattr(paths_module, "RESULTS", tmp_path)
    run = _run()
    levels = (run.experiment, run.engine, run.era, run.network, run.seed, run.variant)
    folder = tmp_path.joinpath("runs", *levels)
    folder.mkdir(parents=True)
    document = {"warm_up_ns": warm_up_s * 10**9, "duration_ns": (warm_up_s + measured_s) * 10**9}
    (folder / "run.json").write_text(json.dumps(document))
    (folder / "provenance.json").write_text("{}")
    return folder


OWN, TRY_OUT = (20 * 60, 15 * 60), (60, 20)
"""What refill_sweep lasts, and what somebody tries: warm-up and measured, in seconds."""


@pytest.mark.parametrize(
    ("standing", "config"),
    [
        (OWN, {"measured": "20 s"}),
        (OWN, {"measured": "5 h"}),
        (OWN, {"warm_up": "1 min"}),
        (TRY_OUT, {"warm_up": "1 min", "measured": "10 s"}),
        ((60, 3600), {}),
    ],
)
def test_a_finished_run_is_replaced_only_when_that_is_asked_for(
    standing, config, monkeypatch, tmp_path, capsys
):
    folder = _finished(monkeypatch, tmp_path, *standing)
    with pytest.raises(SystemExit) as stop:
        _arguments(**config).run_durations(_run())
    assert stop.value.code == 2
    line = capsys.readouterr().err
    assert str(folder) in line and "replace=yes" in line and line.count("\n") == 1
    assert isinstance(_arguments(**config, replace="yes").run_durations(_run()), str)


@pytest.mark.parametrize(
    ("standing", "config", "durations"),
    [
        (OWN, {"measured": "900 s", "warm_up": "1200 s"}, ""),
        (TRY_OUT, {}, ""),
        (TRY_OUT, {"warm_up": "60 s", "measured": "20000 ms"}, "--set 'warm_up=60 s' --set 'measured=20 s'"),
        (TRY_OUT, {"warm_up": "60 s", "measured": "30 s"}, "--set 'warm_up=60 s' --set 'measured=30 s'"),
    ],
)
def test_the_same_duration_in_other_words_changes_nothing(standing, config, durations, monkeypatch, tmp_path):
    _finished(monkeypatch, tmp_path, *standing)
    assert _arguments(**config).run_durations(_run()) == durations


def test_a_networks_knobs_are_passed_to_the_sampler():
    wildcards = SimpleNamespace(network="ci+load=0.5")
    arguments = _arguments()
    assert arguments.network_levels(wildcards) == "--set load=0.5"
    assert arguments.network_settings(wildcards) != arguments.network_settings(SimpleNamespace(network="ci"))


def test_the_content_of_an_imported_table_is_part_of_a_networks_settings(tmp_path):
    table = tmp_path / "bandwidth.json"
    network = SimpleNamespace(network=str(tmp_path / "own.yaml"))
    text = Path("configs/networks/ci.yaml").read_text().replace("client_bandwidth: ", "# ")
    Path(network.network).write_text(f"{text}\nclient_bandwidth: {{file: {table}}}\n")
    settings = []
    for content in ("1\n", "2\n"):
        table.write_text(content)
        settings.append(_arguments().network_settings(network))
    assert settings[0] != settings[1]
    assert str(table) in _arguments()._paths.topologies(network)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variant": "circuit_policy=ewma+refill_interval=10ms"}, "a run is named by every knob of its"),
        ({"variant": "refill_interval=10ms"}, "accepted: refill_interval=10ms+circuit_policy=ewma"),
        ({"variant": "refill_interval=ten+circuit_policy=ewma"}, "is no level of this knob"),
        ({"network": "ci+load=0.5"}, "the variant and its network disagree"),
    ],
)
def test_a_run_has_one_path_only(capsys, changes, said):
    with pytest.raises(SystemExit) as stop:
        _arguments().run_settings(_run(**changes))
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["cellsim", "shadow", "emulation"])
def test_a_larger_network_asks_for_more_memory_and_time_and_so_does_a_run_that_was_killed(engine):
    small, large = (_run(engine=engine, network=network) for network in ("ci", "paper"))
    arguments = _arguments()
    assert arguments.run_memory_mb(small, 1) < arguments.run_memory_mb(large, 1)
    assert arguments.run_minutes(small, 1) <= arguments.run_minutes(large, 1)
    for need in (arguments.run_memory_mb, arguments.run_minutes):
        assert [need(large, attempt) for attempt in (2, 3)] == [2 * need(large, 1), 3 * need(large, 1)]


def test_a_run_in_real_time_has_the_cores_that_its_network_takes_and_a_node_of_its_own():
    real, model = (_run(engine=engine, network="quarter") for engine in ("emulation", "cellsim"))
    cores = find_engine("emulation").demand(load_network_config("quarter")).cores
    assert 1 < cores == _arguments().run_threads(real)
    assert _arguments().run_threads(model) == 1
    assert (_arguments().run_node(real), _arguments().run_node(model)) == ("--exclusive", "")


def test_the_profile_for_slurm_does_what_the_default_one_does():
    default = yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text())
    assert default.items() <= yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text()).items()
