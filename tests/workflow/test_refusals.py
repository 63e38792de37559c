"""What is wrong is said in one line: with exit code 2 before anything has run, else with the step's log."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from tests.workflow.conftest import TINY


def _assert_refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 2, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("torsweep: ")]
    assert len(lines) == 1, done.stdout
    assert said in lines[0]
    assert "Traceback" not in done.stdout
    assert "Exception" not in done.stdout


RUN = "results/runs/refill_sweep/cellsim/2012/ci/1/refill_interval=ten+circuit_policy=ewma/provenance.json"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("refill_sweep --config networks=ci", "--config: networks: unknown key (did you mean 'network'?)"),
        ("refill_sweep --config engine=loopback", "engine: no engine that can run this experiment, got 'loo"),
        ("refill_sweep --cores=0", "--cores: leaves no job a place, got 0; accepted: 1 or more, or all"),
        ("refill_sweep --cores=-1", "--cores: leaves no job a place, got -1; accepted: 1 or more, or all"),
        (RUN, "refill_interval: is no level of this knob, got 'ten'"),
    ],
    ids=["key", "engine", "no core", "cores", "run"],
)
def test_what_cannot_be_is_refused_before_anything_is_made(workspace, words, said):
    config = () if "--config" in words else TINY
    _assert_refused(workspace.snakemake(*words.split(), config=config), said)
    assert not (workspace.folder / "results").exists()


def test_a_mistake_in_an_experiment(workspace):
    file = workspace.folder / "experiments" / "refill_sweep" / "experiment.yaml"
    file.write_text(file.read_text().replace("[1000ms, 100ms, 10ms]", "[1000ms, 100ms, 10 parsecs]"))
    said = "experiment.yaml: knobs.refill_interval: is no level of this knob, got '10parsecs'"
    _assert_refused(workspace.snakemake("refill_sweep"), said)


def _with_mount(workspace, mount: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` where ``mount`` has been done, for it alone; skip the test where that cannot be."""
    unshared = ["unshare", "--mount", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshared, mount], capture_output=True, check=False).returncode
    ):
        pytest.skip("no mounts of its own")
    return workspace.run(*unshared, f'{mount} && exec "$@"', "sh", *command)


def test_results_that_are_read_only(workspace):
    results = workspace.folder / "results"
    results.mkdir()
    command = workspace.command("refill_sweep")
    if os.geteuid() == 0:
        # Root writes through permissions, but not into a read-only mount.
        mount = f"mount --bind {results} {results} && mount -o remount,ro,bind {results}"
        done = _with_mount(workspace, mount, *command)
    else:
        results.chmod(0o555)
        done = workspace.run(*command)
    results.chmod(0o755)
    _assert_refused(done, "results: results cannot be written there: ")


@pytest.mark.parametrize(
    ("size", "file"), [("300k", "results/networks/ci/[12]: cannot be written"), ("8k", "results")]
)
def test_a_full_disk_is_one_line_that_says_what_to_do(workspace, size, file):
    results = workspace.folder / "results"
    results.mkdir()
    mount = f"mount -t tmpfs -o size={size} tmpfs {results}"
    done = _with_mount(workspace, mount, *workspace.command("refill_sweep"))
    last = done.stdout.splitlines()[-1]
    advice = "No space left on device .[0-9]+ kB free.: make room, then give the same command again"
    assert re.search(f"^torsweep: .*{file}: {advice}$", last), done.stdout
    assert "Traceback" not in done.stdout


def test_a_network_that_is_damaged_between_two_pipelines(workspace):
    assert workspace.snakemake("results/networks/ci/1/network.json").returncode == 0
    network = workspace.folder / "results" / "networks" / "ci" / "1" / "network.json"
    network.write_text(network.read_text()[:1000])
    done = workspace.snakemake("refill_sweep")
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 1 and last.startswith(("torsweep: ", "cellsim: ")), done.stdout
    assert "results/networks/ci/1/network.json: " in last
