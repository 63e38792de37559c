"""Where results stand, and what the pipeline makes: nothing that differs shares a path."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from snakemake.target_jobs import parse_target_jobs_cli_args
from snakemake_interface_executor_plugins.utils import TargetSpec, encode_target_jobs_cli_args

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.pipeline import paths as paths_module
from torsweep.pipeline.checks import experiment_questions, require_fitting_networks
from torsweep.pipeline.paths import Paths
from torsweep.pipeline.tree import PlanPath, network_directory, parse_network_key

VARIANT = Variant.parse("refill_interval=10ms+circuit_policy=ewma")
PLAN = PlanPath("refill_sweep", "cellsim", "2012", "paper", "main")
IN_CI = {"experiment": "refill_sweep", "engine": "cellsim", "era": "2012", "network": "ci", "plan": "main"}


@pytest.fixture(autouse=True)
def engine_installed(monkeypatch):
    monkeypatch.setattr(paths_module, "require_engine", lambda engine: None)


def _refusal(capsys, action, *arguments):
    with pytest.raises(SystemExit) as stop:
        action(*arguments)
    lines = capsys.readouterr().err.splitlines(keepends=True)
    refusals = [line for line in lines if " is left out: " not in line]
    assert len(refusals) == 1
    return stop.value.code, refusals[0]


def test_runs_and_stages_have_their_places():
    run = PLAN.run_directory(VARIANT, 3)
    assert str(run) == f"results/runs/refill_sweep/cellsim/2012/paper/3/{VARIANT.key}"
    assert str(PLAN.stage("figures")) == "results/figures/refill_sweep/cellsim/2012/paper/main"
    assert str(network_directory("paper", 3)) == "results/networks/paper/3"


@pytest.mark.parametrize("name", sorted(file.parent.name for file in EXPERIMENTS_DIRECTORY.glob("*/*.yaml")))
def test_the_workflow_takes_every_run_and_hands_it_to_other_processes_of_snakemake(name):
    constraint = re.search(r'^    network=r"(.*)",$', Path("Snakefile").read_text(), re.MULTILINE)
    experiment = load_experiment(name)
    for plan in experiment.plan_names:
        for variant in experiment.plan(plan).variants:
            network = variant.network_key("paper")
            assert re.fullmatch(constraint[1], network)
            _assert_survives({"network": network, "seed": "1", "variant": variant.key})
            _assert_survives({"model": "cellsim+tcp=linux", "network": network})


def _assert_survives(wildcards):
    """As on the way to a job on a node of a cluster."""
    words = encode_target_jobs_cli_args([TargetSpec("run", wildcards)])
    # A shell between the two, which takes quotes away, changes nothing.
    assert len(words) == 1
    assert not set(words[0]) & set("\"'\\$*?{}()<>|&; ")
    (read,) = parse_target_jobs_cli_args(words)
    assert (read.rulename, read.wildcards_dict) == ("run", wildcards)


@pytest.mark.parametrize("file", ["Snakefile", *map(str, sorted(Path("rules").glob("**/*.[ps][ym]*")))])
def test_rules_import_what_there_is(file):
    lines = Path(file).read_text().splitlines()
    exec("\n".join(line for line in lines if re.match("(from|import) ", line)), {})


@given(st.sampled_from(["paper", "my-net_2.0"]), st.decimals("0.01", "20", places=2))
def test_a_network_key_reads_back(name, load):
    loaded = Variant.parse(f"load={load}").network_key(name)
    assert parse_network_key(loaded) == (name, {"load": float(load)})
    assert parse_network_key(VARIANT.network_key(name)) == (name, {})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("paper+scheduler=kist", "does not change the network, got 'scheduler'; accepted: load"),
        ("paper+load=heavy", "load: is no level of this knob"),
        ("paper+loda=1", "no such knob (did you mean 'load'?)"),
    ],
)
def test_a_network_key_of_something_else_is_refused(key, said):
    with pytest.raises(InputError) as refusal:
        parse_network_key(key)
    assert said in str(refusal.value)


def test_targets_are_every_stage_of_the_overridden_plan():
    config = {"network": "ci", "era": "today", "plan": "loads", "engine": "cellsim", "replicates": 1}
    targets = Paths(config).targets("refill_sweep")
    assert "results/networks/ci+load=0.5/1/network.json" in targets
    assert "results/summaries/refill_sweep/cellsim/today/ci/loads/plan.json" in targets
    assert "results/figures/refill_sweep/cellsim/today/ci/loads/ttfb_cdf.pdf" in targets
    assert sum("/runs/" in name for name in targets) == 24
    assert len(set(targets)) == len(targets)


def test_runs_are_variants_in_order_with_the_seeds_of_each_together():
    runs = Paths({"replicates": 2}).runs(SimpleNamespace(**IN_CI))
    assert len(runs) == 12
    assert [file.split("/")[-3:-1] for file in runs[:3]] == [
        ["1", "refill_interval=1000ms+circuit_policy=ewma"],
        ["2", "refill_interval=1000ms+circuit_policy=ewma"],
        ["1", "refill_interval=1000ms+circuit_policy=round_robin"],
    ]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"netwrk": "ci"}, "--config: netwrk: unknown key (did you mean 'network'?)"),
        ({"network": "tiny"}, "network: no such network, got 'tiny'; accepted: backtest_2009_claimed, "),
        ({"replicates": -1}, "--config: replicates: is not accepted, got -1; accepted: greater than or"),
        ({"warm_up": 30}, "--config: warm_up: has no unit, got 30"),
    ],
)
def test_a_bad_override_is_one_line_and_exit_code_2(capsys, config, said):
    code, error = _refusal(capsys, Paths, config)
    assert code == 2
    assert error.startswith(f"torsweep: {said}")


def test_published_are_the_experiments_that_have_the_plan(capsys):
    names = ["refill_sweep", "scheduler_choice"]
    both = Paths({"engine": "cellsim"}).bundles(names)
    assert sum(name.endswith("SHA256SUMS") for name in both) == 2
    published = Paths({"engine": "cellsim", "plan": "aligned_phases"}).bundles(names)
    levels = "refill_sweep/cellsim/2012/paper/aligned_phases"
    sums = f"results/publish/{levels}/SHA256SUMS"
    assert [name for name in published if name.endswith("SHA256SUMS")] == [sums]
    assert f"results/bundles/{levels}/refill_sweep.zip" in published


def test_pages_are_those_of_the_experiment_that_is_named():
    names = ["refill_sweep", "scheduler_choice"]
    files = Paths({"engine": "cellsim", "experiment": "scheduler_choice"}).pages(names)
    pages = [name for name in files if name.endswith(".html")]
    assert pages == ["results/reports/scheduler_choice/cellsim/today/paper/main/scheduler_choice.html"]


@pytest.mark.parametrize(
    ("config", "make", "experiments", "said"),
    [
        ({"plan": "phases"}, Paths.targets, "refill_sweep", "refill_sweep has no such plan"),
        ({"plan": "phases"}, Paths.bundles, ["refill_sweep", "scheduler_choice"], "has no such plan"),
        ({"engine": "emulation"}, Paths.targets, "scale", "no engine that can run this experiment"),
    ],
)
def test_a_plan_or_engine_that_is_not_there_is_refused(capsys, config, make, experiments, said):
    code, error = _refusal(capsys, make, Paths(config), experiments)
    assert code == 2 and said in error


def test_each_experiment_has_its_question():
    found = experiment_questions()
    assert "refill_sweep" in found
    for name, question in found.items():
        begin = question.removesuffix(" …")
        assert begin and load_experiment(EXPERIMENTS_DIRECTORY / name).question.startswith(begin)


@pytest.mark.parametrize("text", ["question: [", "[]", "figures: ttfb_cdf", "question: 3"])
def test_a_wrong_document_stops_nothing(tmp_path, text):
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair" / "experiment.yaml").write_text(text)
    assert experiment_questions(tmp_path)["pair"].endswith("cannot be read")


def test_a_long_question_stands_on_one_line(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/experiment.yaml").write_text(f"question: |\n  Is it\n  {'very ' * 40}slow?\n")
    question = experiment_questions(tmp_path)["mine"]
    assert question.startswith("Is it very") and question.endswith(" …") and len(question) <= 90


def test_a_model_is_not_asked_for_options_of_tor(capsys, tmp_path, monkeypatch):
    text = (EXPERIMENTS_DIRECTORY / "nagle/experiment.yaml").read_text()
    file = tmp_path / "experiments/mine/experiment.yaml"
    file.parent.mkdir(parents=True)
    text = text.replace("\nknobs:\n", "\nknobs:\n  options: [default]\n")
    file.write_text(text.replace("\nbaseline:\n", "\nbaseline:\n  options: default\n"))
    monkeypatch.chdir(tmp_path)
    code, said = _refusal(capsys, Paths({"engine": "cellsim"}).targets, "mine")
    assert code == 2
    assert "options: is of tor itself, and this engine is a model of it, got 'cellsim'; accepted: eng" in said


def test_clients_of_which_an_experiment_says_nothing_can_be_left_out(tmp_path):
    document = yaml.safe_load((EXPERIMENTS_DIRECTORY / "refill_sweep/experiment.yaml").read_text())
    document |= {"claims": [], "network": "ci", "traffic": {"web": document["traffic"]["web"]}}
    file = tmp_path / "mine/experiment.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(InputError) as refused:
        require_fitting_networks(load_experiment(file))
    instead = "network.bulk_clients: [0]"
    assert f"accepted: traffic.bulk in the experiment; or its knobs have {instead}" in str(refused.value)
    document["knobs"] |= yaml.safe_load(instead)
    document["baseline"] |= {"network.bulk_clients": 0}
    file.write_text(yaml.safe_dump(document))
    (config,) = require_fitting_networks(load_experiment(file))
    assert config.client_counts["bulk"] == 0 and config.client_counts["web"] > 0
