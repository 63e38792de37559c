"""``snakemake fidelity`` on a run of Shadow that is finished: model, repeat, replay, tables and figures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.synthetic import finish_run
from tests.workflow.conftest import TINY, Workspace
from torsweep.engines.table_schema import CIRCUITS

VARIANT = "refill_interval=10ms+circuit_policy=ewma"
AS_IN_SHADOW = f"{VARIANT}+tcp=shadow+link_queue=codel"
PLACE = "refill_sweep/{engine}/2012/ci/1"
CONFIG = (*TINY, "compare=finished")


def _torsweep(workspace: Workspace, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "torsweep", *arguments], cwd=workspace.folder, check=True)


def _finished_in_shadow(workspace: Workspace) -> Path:
    """A run as Shadow leaves it. Its downloads are cellsim's, so that every gap is known: none."""
    network, runs = "results/networks/ci/1", workspace.folder / "results/runs"
    _torsweep(workspace, "network", "sample", "configs/networks/ci.yaml", "--seed", "1", "--out", network)
    settings = ("--network", network, "--variant", VARIANT, "--set", "warm_up=20 s", "--set", "measured=30 s")
    made = {}
    for engine in ("shadow", "cellsim"):
        made[engine] = runs / PLACE.format(engine=engine) / VARIANT
        options = (*settings, "--engine", engine, "--out", str(made[engine]))
        _torsweep(workspace, "run", "prepare", "refill_sweep", *options)
    program = Path(sys.executable).with_name("cellsim")
    subprocess.run([program, "run", made["cellsim"]], check=True, capture_output=True)
    for name in ("streams.parquet", "relays.parquet"):
        shutil.copy(made["cellsim"] / name, made["shadow"] / name)
    shutil.rmtree(made["cellsim"])
    relays = json.loads((workspace.folder / network / "network.json").read_text())["relays"]
    guard, exit_ = (
        next(relay["name"] for relay in relays if relay["position"] in positions)
        for positions in (("guard",), ("exit", "guard_exit"))
    )
    middle = next(relay["name"] for relay in relays if relay["name"] not in (guard, exit_))
    circuit = {"client": "web1", "circuit": 1, "first_use_us": 0, "streams": 1}
    pl.DataFrame(
        [{**circuit, "path": ",".join([guard, middle, exit_])}], schema=CIRCUITS.polars
    ).write_parquet(made["shadow"] / "circuits.parquet")
    finish_run(made["shadow"], engine="shadow", engine_version="3.3.0")
    return made["shadow"]


def test_a_finished_run_is_compared_and_no_shadow_is_needed(workspace: Workspace) -> None:
    _finished_in_shadow(workspace)
    done = workspace.snakemake("fidelity", config=CONFIG)
    assert done.returncode == 0, done.stdout
    results = workspace.folder / "results"
    comparison = results / "fidelity/refill_sweep/cellsim_against_shadow/2012/ci/main"
    text = (comparison / "fidelity.md").read_text()
    assert "(tcp=shadow, link_queue=codel) against shadow 3.3.0" in text
    assert "there is no floor to judge by" in text
    assert (comparison / f"curves/{VARIANT}.pdf").exists()
    repeat = json.loads(
        (results / "repeats" / PLACE.format(engine="cellsim") / AS_IN_SHADOW / "run.json").read_text()
    )
    assert repeat["seed"] != 1
    replay = json.loads(
        (results / "replays/shadow" / PLACE.format(engine="cellsim") / VARIANT / "run.json").read_text()
    )
    assert list(replay["paths"]) == ["web1"]
    assert workspace.planned_jobs("fidelity", config=CONFIG) == {}


def test_without_shadow_a_comparison_is_refused_in_one_line(workspace: Workspace) -> None:
    done = workspace.snakemake("fidelity", "--dry-run", config=CONFIG)
    assert done.returncode == 2
    assert "no run in shadow is finished" in done.stdout
