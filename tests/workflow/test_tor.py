"""What the pipeline makes of the tor that it builds, planned with stand-ins for Shadow and a compiler."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.stand_ins import tells_round_trip
from tests.workflow.conftest import REPOSITORY, TINY, Workspace
from torsweep.engines.tools import TOOL_KINDS

ANSWERS = {"shadow": "Shadow 3.3.0", "tgen": "TGen v1.1.2", "oniontrace": "OnionTrace v1.0.0"}
CONFIG = (*TINY, "engine=shadow")


@pytest.fixture
def with_shadow(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with the patches of tor, on a machine with Shadow and with what building tor needs."""
    (workspace.folder / "patches").symlink_to(REPOSITORY / "patches")
    (tmp_path / "programs").mkdir()
    scripts = {
        TOOL_KINDS[name].variable: f"echo {answer}\n{tells_round_trip(100)}"
        for name, answer in ANSWERS.items()
    }
    scripts["CC"] = "exit 0"  # a compiler that finds every library
    for variable, script in scripts.items():
        program = tmp_path / "programs" / variable
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv(variable, str(program))
    return workspace


def _marker(workspace: Workspace) -> Path:
    (built,) = (
        line.split()[-1]
        for line in workspace.snakemake("refill_sweep", "--dry-run", config=CONFIG).stdout.splitlines()
        if line.strip().startswith("output: results/tools/tor/")
    )
    return workspace.folder / built


def test_tor_is_built_before_the_runs_and_only_once(with_shadow: Workspace) -> None:
    planned = with_shadow.planned_jobs(config=CONFIG)
    assert planned["build_tor"] == 1
    assert planned["run_in_shadow"] == 12
    marker = _marker(with_shadow)
    marker.parent.mkdir(parents=True)
    marker.touch()
    planned = with_shadow.planned_jobs(config=CONFIG)
    assert "build_tor" not in planned
    assert planned["run_in_shadow"] == 12


def test_patches_that_are_newer_than_the_build_leave_no_run_out(with_shadow: Workspace) -> None:
    marker = _marker(with_shadow)
    marker.parent.mkdir(parents=True)
    marker.touch()
    os.utime(marker, (0, 0))  # as after a checkout, or in a copy of a build
    planned = with_shadow.planned_jobs(config=CONFIG)
    assert planned["run_in_shadow"] == 12
    assert "build_tor" not in planned


def test_another_source_of_tor_is_another_build(with_shadow: Workspace) -> None:
    marker = _marker(with_shadow)
    marker.parent.mkdir(parents=True)
    marker.touch()
    planned = with_shadow.planned_jobs(config=(*CONFIG, "tor_source=tor.tar.gz"))
    assert planned["build_tor"] == 1
    assert planned["run_in_shadow"] == 12
