"""The Makefile's promises that can be kept without building anything: help, overrides, what runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not on PATH")


def make(*arguments: str) -> str:
    """What ``make`` prints; ``--dry-run`` and ``--assume-old`` keep it from doing anything."""
    command = ["make", "--no-print-directory", "--assume-old=.venv/torsweep.stamp", *arguments]
    # `make test` must not hand its own options down to the make under test.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return result.stdout


def snakemake_call(*arguments: str) -> str:
    return next(line for line in make("--dry-run", *arguments).splitlines() if " snakemake " in line)


@pytest.mark.parametrize("target", ["refill_sweep", "scale_overloaded", "report", "publish"])
def test_a_target_is_a_call_of_snakemake(target):
    assert snakemake_call(target, "CORES=7").strip().endswith(f" --cores 7 {target} --config engine=cellsim")


def test_overrides_reach_snakemake_with_their_quotes():
    command = snakemake_call("refill_sweep", 'CONFIG=network=laptop warm_up="30 s"')
    assert command.endswith(' refill_sweep --config engine=cellsim network=laptop warm_up="30 s"')


def test_an_engine_that_the_user_names_comes_last_and_so_counts():
    assert snakemake_call("nagle", "CONFIG=engine=shadow").endswith(" --config engine=cellsim engine=shadow")


def test_every_experiment_of_the_model_has_a_target():
    files = ROOT.glob("experiments/*/experiment.yaml")
    experiments = {
        file.parent.name for file in files if re.search("^engines:.*cellsim", file.read_text(), re.M)
    }
    listed = {line.split()[1] for line in make().splitlines()}
    assert {"setup", "test", *experiments} <= listed
