"""Killed at any moment, the same command goes on from what is whole."""

from __future__ import annotations

import os
import signal

from tests.workflow.pair import differences


def test_after_kill_9_the_same_command_goes_on(workspace, finished):
    uninterrupted, _ = finished
    victim = workspace.start("refill_sweep")
    workspace.wait_for(lambda: len(workspace.provenance_files()) >= 3)

    # A second pipeline in the folder is refused and disturbs nothing. The first one is only held still
    # meanwhile, so that it is killed in the middle on a fast machine too.
    os.kill(victim.pid, signal.SIGSTOP)
    second = workspace.snakemake("refill_sweep")
    assert second.returncode == 2, second.stdout
    assert f"torsweep: results: in use by another run of the pipeline (process {victim.pid})" in second.stdout
    assert "Traceback" not in second.stdout

    # Only Snakemake dies; what it started is left at work, as after a kill by hand.
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    whole = {file: file.stat().st_mtime_ns for file in workspace.provenance_files()}
    assert 3 <= len(whole) < 12, "the pipeline was to be killed in the middle"

    again = workspace.snakemake("refill_sweep")
    assert again.returncode == 0, again.stdout
    assert len(workspace.provenance_files()) == 12
    # The two jobs that were at work when Snakemake died may have ended after it, unseen.
    untouched = sum(file.stat().st_mtime_ns == date for file, date in whole.items())
    assert untouched >= len(whole) - 2

    # Two sweeps in two folders, one of them killed: the same bytes from networks to figures.
    assert differences(workspace, uninterrupted) == []
