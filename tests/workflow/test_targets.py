"""What a user can ask for: each experiment by its name, also one that is new."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import yaml

from tests.workflow.conftest import REPOSITORY, TINY, Workspace
from tests.workflow.pair import QUESTION, workspace_with_pair
from torsweep.study.new import new_study


def test_a_new_folder_is_a_target_and_is_listed_with_its_question(tmp_path):
    workspace = workspace_with_pair(tmp_path)
    jobs = workspace.planned_jobs("pair", config=("engine=cellsim",))
    made = {"sample_network": 1, "run": 2, "collect_tables": 1, "summarize": 1}
    assert jobs == {**made, "draw_figure": 1, "report_plan": 1}
    published = workspace.planned_jobs("publish", config=("engine=cellsim", "network=ci", "replicates=1"))
    assert published["publish_plan"] > 1
    listed = workspace.snakemake("--list-target-rules", config=("engine=cellsim",))
    assert f"pair ({QUESTION})" in listed.stdout
    assert all(" (" in line for line in listed.stdout.splitlines() if not line.startswith("Using "))


def test_a_new_folder_with_a_mistake_stops_only_itself(tmp_path):
    """Also where the pipeline can take no experiment of this name."""
    workspace = workspace_with_pair(tmp_path)
    shutil.copytree(tmp_path / "experiments/pair", tmp_path / "experiments/my-exp")
    (tmp_path / "experiments/pair/experiment.yaml").write_text("question: [\n")
    assert workspace.planned_jobs("refill_sweep")["run"] == 12
    for name, said in (("pair", "torsweep: experiments/"), ("my-exp", "experiment name: is no name of an")):
        refused = workspace.snakemake(name, "--dry-run", config=("engine=cellsim",))
        assert refused.returncode == 2, refused.stdout
        assert f"{name}/experiment.yaml: " in refused.stdout and said in refused.stdout


def test_a_study_has_a_default_target(tmp_path):
    new_study(tmp_path / "study", "mine", "cellsim")
    done = Workspace(tmp_path / "study").run(sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run")
    assert re.search(r"(?m)^run +8$", done.stdout), done.stdout
    last = done.stdout.splitlines()[-1]
    assert re.match(r"torsweep: mine: 8 runs in cellsim .*about .* on 1 core, \d+ MB of memory", last), last


def test_snakemakes_catalogue_finds_the_pipeline_where_it_looks_for_it():
    words = ("--snakefile", "workflow/Snakefile", "--dry-run", "all")
    done = Workspace(REPOSITORY).snakemake(*words, config=(*TINY, "experiment=refill_sweep"))
    assert done.returncode == 0 and re.search(r"(?m)^run +12$", done.stdout), done.stdout


MODULE = """
configfile: "config.yaml"

module torsweep:
    snakefile: "{snakefile}"
    config: config["torsweep"]

use rule * from torsweep as ts_*

rule everything:
    default_target: True
    input: rules.ts_refill_sweep.input
"""


def outer_workflow(folder: Path) -> Workspace:
    """A workflow that uses the rules by names of its own, with keys of its own beside theirs."""
    (folder / "Snakefile").write_text(MODULE.format(snakefile=REPOSITORY / "Snakefile"))
    keys = {**dict(word.split("=", 1) for word in TINY), "replicates": 1}
    (folder / "config.yaml").write_text(yaml.safe_dump({"samples": ["a", "b"], "torsweep": keys}))
    return Workspace(folder)


def test_another_workflow_uses_the_rules_and_names_its_own_default_target(tmp_path):
    other = outer_workflow(tmp_path)
    planned = other.run(sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run").stdout
    jobs = dict(re.findall(r"(?m)^(\w+) +(\d+)$", planned))
    assert (jobs["everything"], jobs["ts_run"], jobs["ts_summarize"]) == ("1", "6", "1")
    assert "ts_cell_trace" not in jobs
    listed = other.snakemake("--list-target-rules", config=()).stdout.splitlines()
    assert "everything" in listed
    assert any(line.startswith("ts_refill_sweep (Does refilling token buckets") for line in listed)
