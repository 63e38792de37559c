"""Builds and option bundles as levels: what a new or a changed one makes anew, in an engine of no list.

The tors are scripts that say a version, and the engine is a stand-in that leaves tables without rows.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stand_ins import executable, tor_script
from tests.workflow.conftest import REPOSITORY, Workspace
from torsweep.formats.files import read_json

PLAN = "two_tors/toy/2012/ci"
TABLES = f"results/tables/{PLAN}/main/provenance.json"

ENTRY = '''"""A toy: its runs have tables without rows."""
import sys
from pathlib import Path

import polars as pl

from torsweep.config.knob import THIRD
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
    runs_tor=True,
)

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    run = read_run(folder)
    for table in (STREAMS, RELAYS, PROGRESS):
        pl.DataFrame(schema=table.polars).write_parquet(folder / table.file)
    told = {"engine": "toy", "engine_version": f"1, tor {run.tor_build}"}
    write_provenance(folder, {**told, "run_sha256": sha256_of_file(folder / RUN_FILE)})
'''


class Study:
    """A workspace with an experiment whose knobs are tors and options, and an engine that plays nothing."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.folder
        document = yaml.safe_load((self.folder / "experiments/refill_sweep/experiment.yaml").read_text())
        self.document: dict[str, Any] = {
            **document,
            "engines": ["toy", "cellsim"],
            "network": "ci",
            "replicates": 1,
            "tors": {},
            "options": {"dns": {"torrc": {"CacheDNS": 0}, "on": {"share": 0.5}}},
            "sensitivities": {},
            "claims": [],
        }

    def define(self, *names: str, **knobs: list[str]) -> None:
        """Let the experiment have tors of these names, and these knobs."""
        for name in names:
            self.tor(name, name)
            self.document["tors"][name] = {"program": f"{name}/tor"}
        self.document["knobs"] = knobs
        self.document["baseline"] = {knob: levels[0] for knob, levels in knobs.items()}
        file = self.folder / "experiments/two_tors/experiment.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump(self.document, sort_keys=False))

    def tor(self, name: str, line: str) -> None:
        """A program that says it is tor, with ``line`` in it."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for program in ("tor", "tor-gencert"):
            executable(folder / program, tor_script(line))

    def snakemake(self, *arguments: str) -> str:
        """What Snakemake says."""
        done = self._workspace.snakemake(*arguments, config=("engine=toy",))
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned(self) -> list[str]:
        """The variants of the runs that would be made, and ``tor`` for each build and ``tables``."""
        said = self.snakemake(TABLES, "--dry-run")
        runs = re.findall(r"run two_tors (\S+) on ci", said)
        others = ["tor"] * len(re.findall(r": tor: results", said)) + ["tables"] * ("tables of two" in said)
        return sorted(runs) + others


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A torsweep with the toy of an engine."""
    package = tmp_path_factory.mktemp("src") / "torsweep"
    shutil.copytree(REPOSITORY / "src/torsweep", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "engines/toy").mkdir()
    (package / "engines/toy/__init__.py").write_text('"""A toy."""\n')
    (package / "engines/toy/entry.py").write_text(ENTRY)
    return package


@pytest.fixture
def study(workspace: Workspace, package: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{REPOSITORY}")
    return Study(workspace)


def test_a_level_makes_its_own_runs_and_nothing_else(study: Study) -> None:
    study.define("stock", "branch", tor=["stock", "branch"], options=["default", "dns"])
    study.snakemake(TABLES)
    runs = study.folder / f"results/runs/{PLAN}/1"
    of_stock, of_branch = (
        read_json(runs / f"tor={name}+options=dns/run.json") for name in ("stock", "branch")
    )
    assert of_stock["tor_build"] != of_branch["tor_build"], "one line in a comment tells them apart"
    (given,) = of_stock["given"]["torrc"]
    assert given["lines"] == {"CacheDNS": "0"}
    assert 0 < len(given["hosts"]) < 10
    assert of_branch["given"] == of_stock["given"]
    builds = read_json(study.folder / TABLES)
    assert study.planned() == []

    # A third level, later: its build, its runs, the tables.
    study.define("other", tor=["stock", "branch", "other"], options=["default", "dns"])
    assert study.planned() == ["tor=other+options=default", "tor=other+options=dns", "tor", "tables"]

    # Another line in one program, and another share in one bundle.
    study.tor("branch", "another line")
    study.define(tor=["stock", "branch"], options=["default", "dns"])
    assert study.planned() == ["tor=branch+options=default", "tor=branch+options=dns", "tor", "tables"]
    study.tor("branch", "branch")
    study.document["options"]["dns"]["on"]["share"] = 0.6
    study.define(tor=["stock", "branch"], options=["default", "dns"])
    assert study.planned() == ["tor=branch+options=dns", "tor=stock+options=dns", "tables"]
    assert read_json(study.folder / TABLES) == builds


def test_the_same_content_named_in_another_way_leaves_no_run_out(study: Study) -> None:
    study.define("stock", "branch", tor=["stock", "branch"], options=["default"])
    study.snakemake(TABLES)
    shutil.copytree(study.folder / "branch", study.folder / "moved")
    study.document["tors"]["branch"] = {"program": "moved/tor"}
    study.define(tor=["stock", "branch"], options=["default", "dns"])
    assert study.planned() == ["tor=branch+options=dns", "tor=stock+options=dns", "tables"]
