"""A network in the shape of tornettools under real Shadow, tor and TGen: two tors on it, to the answer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.runnable_tornet import write_runnable_tornet
from torsweep.tor import TOOLS

pytestmark = [pytest.mark.shadow, pytest.mark.usefixtures("built_tor")]

CHANGE = ["--torrc", "KISTSchedRunInterval 100 msec", "--consensus", "circwindow=500"]
TIMES = ["--networks", "2", "--warm-up", "70 s", "--measured", "40 s"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the builds of this one."""
    shutil.copytree(TOOLS, tmp_path / TOOLS, ignore=shutil.ignore_patterns("downloads"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_tors_are_compared_to_the_answer(here: Path) -> None:
    write_runnable_tornet(here / "tornet")
    command = ["compare", "--network", "tornet/", *CHANGE, *TIMES, "--study", "study"]
    done = subprocess.run([sys.executable, "-m", "torsweep", *command], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (table,) = here.glob("study/results/summaries/**/arrived.csv")
    arrived = pl.read_csv(table, infer_schema=False)
    assert set(arrived.select("role", "name", "found").rows()) == {
        *((role, "KISTSchedRunInterval", "100") for role in ("authority", "relay", "client")),
        *((role, "circwindow", "500") for role in ("authority", "relay", "client")),
    }
    assert set(arrived["arrived"]) == {"true"}
    (streams,) = here.glob("study/results/tables/**/streams.parquet")
    complete = pl.read_parquet(streams).filter(pl.col("outcome") == "complete")
    assert {"perf_5mib", "markov"} <= set(complete["kind"])
