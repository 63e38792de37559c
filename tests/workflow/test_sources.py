"""A plan of several sources with a finished run of Shadow: model, repeat, summary, figures, page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic import finish_run
from tests.workflow.conftest import TINY, Workspace

VARIANT = "refill_interval=10ms+circuit_policy=ewma"
AS_SHADOW = "cellsim+tcp=linux_6_18+link_queue=codel"
LEVELS = "refill_sweep/{engine}/2012/ci/1"
CONFIG = (*TINY, f"engine=shadow,{AS_SHADOW}")


def _torsweep(workspace: Workspace, *arguments: str) -> None:
    done = workspace.torsweep(*arguments)
    assert done.returncode == 0, done.stdout


def _finished_in_shadow(workspace: Workspace) -> Path:
    """A run as Shadow leaves it. Its downloads are cellsim's, so that every distance is known: none."""
    network, runs = "results/networks/ci/1", workspace.folder / "results/runs"
    _torsweep(workspace, "network", "sample", "configs/networks/ci.yaml", "--seed", "1", "--out", network)
    settings = ("--network", network, "--variant", VARIANT, "--set", "warm_up=20 s", "--set", "measured=30 s")
    made = {}
    for engine in ("shadow", "cellsim"):
        made[engine] = runs / LEVELS.format(engine=engine) / VARIANT
        options = (*settings, "--engine", engine, "--out", str(made[engine]))
        _torsweep(workspace, "run", "prepare", "refill_sweep", *options)
    program = Path(sys.executable).with_name("cellsim")
    subprocess.run([program, "run", made["cellsim"]], check=True, capture_output=True)
    for file in made["cellsim"].glob("*.parquet"):
        shutil.copy(file, made["shadow"])
    shutil.rmtree(made["cellsim"])
    finish_run(made["shadow"], engine="shadow", engine_version="3.3.0")
    return made["shadow"]


def test_a_finished_run_is_compared_and_no_shadow_is_needed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = os.environ["PATH"].split(os.pathsep)
    without = [folder for folder in folders if not Path(folder, "shadow").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(without))
    _finished_in_shadow(workspace)
    done = workspace.snakemake("refill_sweep", "report", config=(*CONFIG, "experiment=refill_sweep"))
    assert done.returncode == 0, done.stdout
    results = workspace.folder / "results"
    place = f"refill_sweep/shadow_vs_{AS_SHADOW}/2012/ci/main"
    text = (results / "summaries" / place / "summary.json").read_text()
    assert "Distances between the curves" in text
    drawn = {file.stem for file in (results / "figures" / place).glob("*.png")}
    assert "ttfb_cdf" in drawn
    assert "Distances between the curves" in (results / "reports" / place / "refill_sweep.html").read_text()
    levels = LEVELS.format(engine="cellsim")
    repeat = results / f"repeats/{levels}/{VARIANT}+tcp=linux_6_18+link_queue=codel/run.json"
    assert json.loads(repeat.read_text())["seed"] != 1
    assert "Nothing to be done" in workspace.snakemake("refill_sweep", "--dry-run", config=CONFIG).stdout


def test_without_runs_of_real_tor_it_is_refused_in_one_line(workspace: Workspace) -> None:
    done = workspace.snakemake("refill_sweep", "--dry-run", config=CONFIG)
    assert done.returncode == 2
    assert "no run in shadow is finished" in done.stdout
