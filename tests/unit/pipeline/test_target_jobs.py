"""Wildcards reach another process of Snakemake as they are, such as a job on a node of a cluster."""

from __future__ import annotations

import pytest
from snakemake.target_jobs import parse_target_jobs_cli_args
from snakemake_interface_executor_plugins.utils import TargetSpec, encode_target_jobs_cli_args

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.pipeline.checks import experiment_questions


@pytest.mark.parametrize("file", sorted(EXPERIMENTS_DIRECTORY.glob("*/experiment.yaml")))
def test_there_and_back(file):
    loaded = load_experiment(file)
    for name in loaded.plan_names:
        for variant in loaded.plan(name).variants:
            network = variant.network_key("paper")
            _assert_survives({"network": network, "seed": "1", "variant": variant.key})
            _assert_survives({"model": "cellsim+tcp=linux", "network": network})


def _assert_survives(wildcards: dict[str, str]) -> None:
    words = encode_target_jobs_cli_args([TargetSpec("run", wildcards)])
    # A shell between the two, which takes quotes away, changes nothing.
    assert len(words) == 1
    assert not set(words[0]) & set("\"'\\$*?{}()<>|&; ")
    (read,) = parse_target_jobs_cli_args(words)
    assert (read.rulename, read.wildcards_dict) == ("run", wildcards)


def test_a_long_question_stands_on_one_line(tmp_path, monkeypatch):
    file = tmp_path / EXPERIMENTS_DIRECTORY / "mine" / "experiment.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("question: |\n  Does it matter\n  " + "very " * 40 + "much?\n")
    monkeypatch.chdir(tmp_path)
    question = experiment_questions()["mine"]
    assert question.startswith("Does it matter very") and question.endswith(" …") and len(question) <= 90
