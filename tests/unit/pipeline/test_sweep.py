"""What the pipeline makes: targets, runs, and parameters that tell when a run has to be made anew."""

from __future__ import annotations

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from torsweep.engines.selection import Choice
from torsweep.pipeline import sweep as sweep_module
from torsweep.pipeline.duration import Slots
from torsweep.pipeline.leaving import Leaving
from torsweep.pipeline.sweep import Sweep

PLACE = {"experiment": "refill_sweep", "engine": "cellsim", "era": "2012", "network": "ci", "plan": "main"}


@pytest.fixture(autouse=True)
def engine_installed(monkeypatch):
    monkeypatch.setattr(sweep_module, "require_engine", lambda engine: None)


def _refusal(capsys, action, *arguments):
    with pytest.raises(SystemExit) as stop:
        action(*arguments)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return stop.value.code, said


def test_targets_are_every_file_of_the_overridden_plan():
    config = {"network": "ci", "era": "today", "plan": "loads", "engine": "cellsim", "replicates": 1}
    targets = Sweep(config).targets("refill_sweep")
    assert "results/networks/ci+load=0.5/1/latency.npy" in targets
    assert "results/summaries/refill_sweep/cellsim/today/ci/loads/summary.md" in targets
    assert "results/figures/refill_sweep/cellsim/today/ci/loads/ttfb_cdf.pdf" in targets
    assert sum(name.endswith("/progress.parquet") for name in targets) == 24 + 1
    assert len(set(targets)) == len(targets)


def _folders(files):
    return list(dict.fromkeys(file.rpartition("/")[0] for file in files))


def test_runs_are_variants_in_order_with_the_seeds_of_each_together():
    runs = _folders(Sweep({"replicates": 2}).runs(SimpleNamespace(**PLACE)))
    assert len(runs) == 12
    assert runs[0].endswith("/ci/1/refill_interval=1000ms+circuit_policy=ewma")
    assert runs[1].endswith("/ci/2/refill_interval=1000ms+circuit_policy=ewma")
    assert runs[2].endswith("/ci/1/refill_interval=1000ms+circuit_policy=round_robin")


@pytest.mark.parametrize(("plan", "replicates"), [("main", 1), ("main", 12), ("loads", 3)])
def test_the_arguments_of_a_command_expand_to_the_same_runs(plan, replicates):
    wildcards = SimpleNamespace(**{**PLACE, "plan": plan})
    sweep = Sweep({"replicates": replicates})
    echo = ["bash", "-c", f"printf '%s\\n' {sweep.run_directories(wildcards)}"]
    expanded = subprocess.run(echo, capture_output=True, text=True, check=True).stdout.splitlines()
    assert expanded == _folders(sweep.runs(wildcards))


def test_the_most_replicates_still_fit_into_a_command_line():
    wildcards = SimpleNamespace(**{**PLACE, "plan": "loads"})
    sweep = Sweep({"replicates": 200})
    assert len(sweep.run_directories(wildcards)) < 10_000


def test_loads_run_on_networks_of_their_own():
    wildcards = SimpleNamespace(**{**PLACE, "plan": "loads"})
    networks = Sweep({"replicates": 1}).networks(wildcards)
    assert networks == [
        f"results/networks/ci+load={load}/1/{name}"
        for load in ("0.5", "0.8", "1", "1.1")
        for name in ("network.json", "latency.npy")
    ]


def _run(**changes):
    run = {**PLACE, "seed": "1", "variant": "refill_interval=10ms+circuit_policy=ewma"}
    return SimpleNamespace(**{**run, **changes})


def test_what_changes_run_json_changes_the_parameters_of_the_rule():
    usual = Sweep({}).run_settings(_run())
    assert Sweep({"replicates": 2, "network": "ci"}).run_settings(_run()) == usual
    assert Sweep({"measured": "1 min"}).run_settings(_run()) != usual
    assert Sweep({}).run_settings(_run(era="today")) != usual
    assert Sweep({"measured": "1 min", "warm_up": "9 s"}).run_arguments(_run()) == (
        "--set 'warm_up=9 s' --set 'measured=1 min'"
    )


def test_a_networks_knobs_are_passed_to_the_sampler():
    wildcards = SimpleNamespace(network="ci+load=0.5")
    sweep = Sweep({})
    assert sweep.network_arguments(wildcards) == "--set load=0.5"
    assert sweep.network_file(wildcards) == "configs/networks/ci.yaml"
    assert sweep.network_settings(wildcards) != sweep.network_settings(SimpleNamespace(network="ci"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"netwrk": "ci"},
            "--config: netwrk: unknown key (did you mean 'network'?); accepted: network, repl",
        ),
        (
            {"network": "tiny"},
            "network: no such network, got 'tiny'; accepted: binding_middle, ci, laptop, paper, quarter",
        ),
        ({"network": "../x"}, "--config: network: is not accepted, got '../x'"),
        (
            {"replicates": -1},
            "--config: replicates: is not accepted, got -1; accepted: a whole",
        ),
        ({"replicates": "two"}, "--config: replicates: is not accepted, got 'two'; accepted: a whole"),
        ({"era": 1999}, "--config: era: is not accepted, got '1999'; accepted: '2012', 'today'"),
        ({"warm_up": 30}, "--config: warm_up: has no unit, got 30"),
        ({"measured": "0 s"}, "--config: measured: is out of range, got '0 s'"),
    ],
)
def test_a_bad_override_is_one_line_and_exit_code_2(capsys, config, said):
    code, error = _refusal(capsys, Sweep, config)
    assert code == 2
    assert error.startswith(f"torsweep: {said}")


def test_published_are_the_experiments_that_have_the_plan(capsys):
    names = ("refill_sweep", "scheduler_choice")
    both = _leaving(engine="cellsim").bundles(*names)
    assert sum(name.endswith("SHA256SUMS") for name in both) == 2
    published = _leaving(engine="cellsim", plan="aligned_phases").bundles(*names)
    levels = "refill_sweep/cellsim/2012/paper/aligned_phases"
    folder = f"results/publish/{levels}"
    assert [name for name in published if name.endswith("SHA256SUMS")] == [f"{folder}/SHA256SUMS"]
    assert f"results/bundles/{levels}/refill_sweep.zip" in published
    place = SimpleNamespace(
        experiment="refill_sweep", engine="cellsim", era="2012", network="paper", plan="aligned_phases"
    )
    packed = _leaving(engine="cellsim").published(place)
    assert {
        f"{folder}/README.md",
        f"{folder}/tables/streams.parquet",
        f"{folder}/figures/ttfb_cdf.pdf",
    } <= set(packed)
    code, error = _refusal(capsys, _leaving(plan="phases").bundles, *names)
    assert (code, "refill_sweep has no such plan" in error) == (2, True)


def test_pages_are_those_of_the_experiment_that_is_named():
    names = ("refill_sweep", "scheduler_choice")
    files = _leaving(engine="cellsim", experiment="scheduler_choice").pages(*names)
    pages = [name for name in files if name.endswith(".html")]
    assert pages == ["results/reports/scheduler_choice/cellsim/today/paper/main/scheduler_choice.html"]


def test_authors_and_licence_become_arguments():
    assert _leaving().credit(None) == ""
    said = _leaving(authors="Ada Lovelace; G. Hopper", licence="CC-BY-4.0").credit(None)
    assert said == "--author 'Ada Lovelace' --author 'G. Hopper' --licence CC-BY-4.0"


def _leaving(**config):
    return Leaving(Sweep(config), config)


def test_a_plan_or_engine_that_is_not_there_is_refused(capsys):
    code, error = _refusal(capsys, Sweep({"plan": "phases"}).targets, "refill_sweep")
    assert (code, "refill_sweep has no such plan" in error) == (2, True)
    code, error = _refusal(capsys, Sweep({"engine": "emulation"}).targets, "refill_waits")
    assert (code, "no engine that can run this experiment" in error) == (2, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"variant": "circuit_policy=ewma+refill_interval=10ms"},
            "a run is named by every knob of its experiment",
        ),
        ({"variant": "refill_interval=10ms"}, "accepted: refill_interval=10ms+circuit_policy=ewma"),
        ({"variant": "refill_interval=ten+circuit_policy=ewma"}, "is no level of this knob"),
        ({"network": "ci+load=0.5"}, "the variant and its network disagree"),
    ],
)
def test_a_run_has_one_path_only(capsys, changes, said):
    code, error = _refusal(capsys, Sweep({}).run_settings, _run(**changes))
    assert code == 2
    assert said in error


def test_changed_sources_change_the_parameter(tmp_path, monkeypatch):
    shutil.copytree(sweep_module.PACKAGE / "stats", tmp_path / "stats")
    before = Sweep({}).source_sha256("stats")
    monkeypatch.setattr(sweep_module, "PACKAGE", tmp_path)
    assert Sweep({}).source_sha256("stats") == before
    (tmp_path / "stats" / "medians.py").write_text("")
    assert Sweep({}).source_sha256("stats") != before


def test_what_is_about_to_run_is_said_with_how_long_it_takes(monkeypatch):
    sweep = Sweep({"network": "paper"})
    monkeypatch.setattr(
        sweep_module, "choose_engine", lambda *asked: Choice("shadow", "preferred, and installed")
    )
    said = sweep.announcement("refill_sweep", "shadow", "2012", ["paper"] * 48, Slots(2))
    assert said == (
        "refill_sweep: 48 runs in shadow (preferred, and installed), era 2012: about 22 h 3 min on 2 cores;"
        " engine=cellsim takes about 3 min"
    )


def test_an_engine_that_was_asked_for_needs_no_alternative():
    sweep = Sweep({"engine": "emulation", "network": "quarter"})
    said = sweep.announcement("refill_sweep", "emulation", "2012", ["quarter"] * 6, Slots(32))
    assert said == "refill_sweep: 6 runs in emulation, era 2012: at most 59 min on 32 cores"
