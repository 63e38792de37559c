"""An engine and a knob that nothing lists: the pipeline finds the package and the row, and runs with them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import REPOSITORY, Workspace
from torsweep.formats.json_file import read_json

ENTRY = '''"""A toy: its runs have tables without rows."""
import sys
from pathlib import Path

import polars as pl

from torsweep.config.looks import THIRD
from torsweep.engines.contract import Demand, Engine, EngineKind
from torsweep.engines.run_spec import RUN_FILE, read_run, write_provenance
from torsweep.engines.table_schema import PROGRESS, RELAYS, STREAMS
from torsweep.provenance import sha256_of_file

ENGINE = Engine(
    name="toy",
    command=f"{sys.executable} -m torsweep.engines.toy.entry",
    here=lambda: "toy",
    versions=lambda: ["toy 1"],
    run_seconds=lambda network, run_s: 1,
    demand=lambda network: Demand(1_000_000),
    kinds={"toy": EngineKind("plays nothing", THIRD)},
    runs_tor=False,
)

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    run = read_run(folder)
    for table in (STREAMS, RELAYS, PROGRESS):
        pl.DataFrame(schema=table.polars).write_parquet(folder / table.file)
    told = {"engine": "toy", "engine_version": "1", "run_sha256": sha256_of_file(folder / RUN_FILE)}
    write_provenance(folder, {**told, "window": run.tor.congestion.circuit_window_cells})
'''

ROW = """_TABLE = (
    Knob(
        "circuit_window",
        "How many cells of a circuit may be under way.",
        number(100, 1000, of="cells"),
        "congestion.circuit_window_cells",
        "1000",
        tor=(TorOption("circwindow", where="consensus"),),
        under={"congestion": "fixed"},
    ),
"""


@pytest.fixture
def with_toys(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace of a torsweep with both, and an experiment that uses them."""
    package = tmp_path / "src" / "torsweep"
    shutil.copytree(REPOSITORY / "src/torsweep", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "engines/toy").mkdir()
    (package / "engines/toy/__init__.py").write_text('"""A toy."""\n')
    (package / "engines/toy/entry.py").write_text(ENTRY)
    knobs = package / "config/knobs.py"
    knobs.write_text(knobs.read_text().replace("_TABLE = (\n", ROW))
    experiment = workspace.folder / "experiments/refill_sweep/experiment.yaml"
    text = experiment.read_text().replace("engines: [", "engines: [toy, ")
    experiment.write_text(
        text.replace("sensitivities:\n", "sensitivities:\n  windows: {circuit_window: [500]}\n")
    )
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{REPOSITORY}")
    return workspace


def test_the_pipeline_runs_an_engine_and_turns_a_knob_that_are_only_there(with_toys: Workspace) -> None:
    snakemake = (sys.executable, "-m", "snakemake", "--cores", "1")
    config = ("--config", "engine=toy", "plan=windows", "network=ci", "replicates=1")
    planned = with_toys.run(*snakemake, "refill_sweep", "--dry-run", *config)
    variant = "refill_interval=10ms+circuit_policy=ewma+circuit_window=500"
    assert f"run refill_sweep {variant} on ci, seed 1" in planned.stdout
    folder = f"results/runs/refill_sweep/toy/2012/ci/1/{variant}"
    done = with_toys.run(*snakemake, f"{folder}/provenance.json", *config)
    assert done.returncode == 0, done.stdout
    assert read_json(with_toys.folder / folder / "provenance.json")["window"] == 500
    assert json.loads((with_toys.folder / folder / "run.json").read_text())["engine"] == "toy"
