"""``replicates=auto``: batches of networks follow until no claim is open, also after a kill."""

from __future__ import annotations

import json
import os
import signal

PRECISION = (
    "network=ci",
    "replicates=auto",
    "precision={networks: 4, batch: 2}",
    "warm_up=20 s",
    "measured=30 s",
)
INTERIM = "results/interim/refill_sweep/cellsim/2012/ci/main/2.json"
SUMMARY = "results/summaries/refill_sweep/cellsim/2012/ci/main/summary.md"


def test_a_growing_sweep_goes_on_from_the_analysis_it_had_come_to(workspace):
    victim = workspace.start(SUMMARY, config=PRECISION)
    interim = workspace.folder / INTERIM
    workspace.wait_for(interim.exists)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    bytes_found = interim.read_bytes()
    found = json.loads(bytes_found)
    assert found["seeds"] == [1, 2]
    assert found["enough"] == "", "two tiny networks decide nothing"

    again = workspace.snakemake(SUMMARY, config=PRECISION)
    assert again.returncode == 0, again.stdout
    # An analysis that had just ended may be made again: it finds the same.
    assert interim.read_bytes() == bytes_found
    claims = json.loads((workspace.folder / SUMMARY).with_name("claims.json").read_text())
    assert (claims["seeds"], claims["interim"]) == ([1, 2, 3, 4], [2, 4])
    assert len(workspace.provenance_files()) == 24

    # The same networks as a fixed number: nothing runs again but the statistics.
    fixed = ("network=ci", "replicates=4", "warm_up=20 s", "measured=30 s")
    planned = workspace.planned_jobs(SUMMARY, config=fixed)
    assert planned["summarize"] == 1
    assert not {"run", "sample_network", "collect_tables", "interim_analysis"} & set(planned)
