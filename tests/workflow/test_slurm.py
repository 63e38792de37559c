"""On a Slurm of one node: the same bytes as here, what a user has set in the environment, and a second try.

The experiment is a folder that is new to the pipeline: two variants, one network.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.conftest import REPOSITORY, TIMEOUT_S, Workspace
from tests.workflow.pair import differences, workspace_with_pair

pytestmark = pytest.mark.slurm

ONE_NODE = REPOSITORY / "setup" / "one_node_slurm.sh"
CONFIG = ("engine=cellsim",)
TABLES = "results/tables/pair/cellsim/2012/ci/main/provenance.json"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a shell that sends jobs to a Slurm of one node, with no virtual environment on PATH."""
    folder = tmp_path / "slurm"
    subprocess.run([ONE_NODE, "start", folder], check=True, stdout=subprocess.DEVNULL)
    own = os.path.dirname(sys.executable)
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if part != own)
    yield {
        **os.environ,
        "PATH": path,
        "SLURM_CONF": str(folder / "slurm.conf"),
        "TORSWEEP_TGEN": "/not/asked/for/by/cellsim",
    }
    subprocess.run([ONE_NODE, "stop", folder], check=True)


def _processes_of_a_run(environment: dict[str, str]) -> list[int]:
    """The processes of a job that plays a run, once there are any."""
    jobs = _slurm("squeue", "--noheader", "--states=RUNNING", "--format=%i %k", environment=environment)
    for job in re.findall(r"^(\d+) rule_run\b", jobs.replace("_wildcards", " "), re.MULTILINE):
        listed = _slurm("scontrol", "listpids", job, environment=environment)
        processes = [int(number) for number in re.findall(r"^(\d+)", listed, re.MULTILINE)]
        if processes:
            return processes
    return []


def _slurm(*command: str, environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def _environment_of(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/environ").read_text().split("\0")
    except OSError:
        return []


def test_a_cluster_makes_the_same_tables_though_a_worker_is_killed(tmp_path, environment):
    here = workspace_with_pair(tmp_path / "here")
    done = here.snakemake(TABLES, config=CONFIG)
    assert done.returncode == 0, done.stdout

    there = workspace_with_pair(tmp_path / "there")
    options = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"]
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm", *options, TABLES]
    said = tmp_path / "said"
    with said.open("w") as output:
        pipeline = subprocess.Popen(
            [*command, "--config", *CONFIG],
            cwd=there.folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    there.started.append(pipeline)
    try:
        processes: list[int] = []
        there.wait_for(lambda: _at_work(processes, environment) or pipeline.poll() is not None)
        assert pipeline.poll() is None, said.read_text()
        assert any("TORSWEEP_TGEN=/not/asked/for/by/cellsim" in _environment_of(one) for one in processes)
        for process in processes:
            # Some of them last no longer than it takes to list them.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        assert pipeline.wait(TIMEOUT_S) == 0, said.read_text()
    finally:
        there.stop_all()

    assert "about" in said.read_text()
    assert "Trying to restart job" in _snakemake_log(there)
    assert differences(there, here) == []


def _at_work(processes: list[int], environment: dict[str, str]) -> bool:
    """Whether a run is being played; its processes are then in ``processes``."""
    time.sleep(0.5)
    processes[:] = _processes_of_a_run(environment)
    return bool(processes)


def _snakemake_log(workspace: Workspace) -> str:
    return "".join(log.read_text() for log in (workspace.folder / ".snakemake" / "log").glob("*.log"))
