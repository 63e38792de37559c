"""What is wrong is said in one line, with exit code 2, before anything has run."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def _assert_refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 2, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("torsweep: ")]
    assert len(lines) == 1, done.stdout
    assert said in lines[0]
    assert "Traceback" not in done.stdout
    assert "Exception" not in done.stdout


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("networks=ci", "--config: networks: unknown key (did you mean 'network'?)"),
        ("network=tiny", "network: no such network, got 'tiny'; accepted: ci, laptop, paper, quarter"),
        ("replicates=0", "--config: replicates: is not accepted, got 0; accepted: 1 or more"),
        ("measured=30", "--config: measured: has no unit, got 30"),
        ("plan=phases", "plan: refill_sweep has no such plan (did you mean 'aligned_phases'?), got 'phases'"),
        ("engine=loopback", "engine: no engine that can run this experiment, got 'loopback'"),
    ],
)
def test_a_bad_override(workspace, config, said):
    _assert_refused(workspace.snakemake("refill_sweep", config=(config,)), said)
    assert not (workspace.folder / "results").exists()


def test_a_mistake_in_an_experiment(workspace):
    file = workspace.folder / "experiments" / "refill_sweep" / "experiment.yaml"
    file.write_text(file.read_text().replace("[1000ms, 100ms, 10ms]", "[1000ms, 100ms, 10 parsecs]"))
    said = "experiment.yaml: knobs.refill_interval: is no level of this knob, got '10parsecs'"
    _assert_refused(workspace.snakemake("refill_sweep"), said)


def test_a_mistake_in_a_network(workspace):
    file = workspace.folder / "configs" / "networks" / "ci.yaml"
    file.write_text(file.read_text().replace("relays: 10", "relays: -10"))
    _assert_refused(
        workspace.snakemake("refill_sweep"), "configs/networks/ci.yaml: relays: is not accepted, got -10"
    )


def test_a_path_that_names_no_run(workspace):
    run = (
        "results/runs/refill_sweep/cellsim/2012/ci/1/refill_interval=ten,circuit_policy=ewma/provenance.json"
    )
    _assert_refused(workspace.snakemake(run), "refill_interval: is no level of this knob, got 'ten'")


def test_results_that_are_a_file(workspace):
    (workspace.folder / "results").write_text("")
    _assert_refused(workspace.snakemake("refill_sweep"), "results: is no folder; results go there")


def test_results_that_are_read_only(workspace):
    results = workspace.folder / "results"
    results.mkdir()
    command = workspace.command("refill_sweep")
    if os.geteuid() == 0:
        # Root writes through permissions, but not into a read-only mount.
        mount = f"mount --bind {results} {results} && mount -o remount,ro,bind {results}"
        if (
            shutil.which("unshare") is None
            or subprocess.run(
                ["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False
            ).returncode
        ):
            pytest.skip("root, and no mounts of its own: nothing here can be read-only")
        command = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", *command]
    else:
        results.chmod(0o555)
    done = subprocess.run(
        command,
        cwd=workspace.folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=100,
        check=False,
    )
    results.chmod(0o755)
    _assert_refused(done, "results: results cannot be written there: ")
