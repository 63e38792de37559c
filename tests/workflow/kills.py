"""Kill a small pipeline at random moments until it is through, again and again, and look at what it leaves.

    python -m tests.workflow.kills FOLDER [--kills 50] [--seed 1]

In: an empty folder. Out: a line a pipeline, and exit code 0 when every one of them left the same bytes as a
pipeline that nobody disturbed, in networks, runs' and plans' tables, summaries and figures, and no file that
an undisturbed one does not leave. A kill is SIGKILL to Snakemake alone, whose steps then go on, or to all
that it started, in turn.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.workflow.conftest import Workspace
from tests.workflow.pair import workspace_with_pair
from torsweep.storage.folders import is_temporary

SMALL = ("engine=cellsim",)
SAME_BYTES = ("networks/**/*.*", "runs/**/*.parquet", "tables/**/*.*", "summaries/**/*.*", "figures/**/*.*")
"""All but what a run measured of its machine, which stands in its provenance.json."""


def leftovers(workspace: Workspace, reference: Workspace) -> list[str]:
    """Paths that are in the results of one of the two and not in the other's; temporaries do not count.

    A step that outlives its Snakemake ends well, but Snakemake did not see how long it took: such a run has
    no file below ``results/benchmarks``.
    """
    one, other = (
        {
            str(path.relative_to(made.folder))
            for path in (made.folder / "results").rglob("*")
            if not is_temporary(path.name)
        }
        for made in (workspace, reference)
    )
    unseen = {path for path in other - one if path.startswith("results/benchmarks/")}
    return sorted((one ^ other) - unseen)


def differences(workspace: Workspace, reference: Workspace) -> list[str]:
    """What is not the same in the results of the two, file by file."""
    results = reference.folder / "results"
    files = [file for pattern in SAME_BYTES for file in results.glob(pattern) if file.is_file()]
    paths = [file.relative_to(reference.folder) for file in files]
    return [
        str(path)
        for path in paths
        if (workspace.folder / path).read_bytes() != (reference.folder / path).read_bytes()
    ]


def kill_until_done(workspace: Workspace, draw: random.Random, within_s: float, most: int) -> int:
    """Start the pipeline and kill it after a random time, until it ends by itself or ``most`` are done.

    After the last kill it may end in peace. Returns the number of kills.
    """
    kills = 0
    while True:
        pipeline = workspace.start("pair", config=SMALL, forked_steps=False)
        alone = kills % 2 == 0
        try:
            code = pipeline.wait(None if kills == most else draw.uniform(0, within_s))
        except subprocess.TimeoutExpired:
            kills += 1
            # Its steps are in the session that it leads.
            (os.kill if alone else os.killpg)(pipeline.pid, signal.SIGKILL)
            pipeline.wait()
            continue
        if code:
            raise SystemExit(f"the pipeline ended with {code} after {kills} kills")
        return kills


def finish_undisturbed(workspace: Workspace) -> float:
    """Run the pipeline to its end; how long it took, in seconds."""
    started = time.monotonic()
    if workspace.start("pair", config=SMALL, forked_steps=False).wait():
        raise SystemExit("an undisturbed pipeline failed")
    return time.monotonic() - started


def run(folder: Path, kills: int, seed: int, say: Callable[[str], None]) -> bool:
    """Kill pipelines ``kills`` times in all; whether each left what an undisturbed one leaves."""
    draw = random.Random(seed)
    reference = workspace_with_pair(folder / "reference")
    within_s = finish_undisturbed(reference)
    say(f"undisturbed: {within_s:.0f} s")
    done, number, sound = 0, 0, True
    while done < kills:
        number += 1
        workspace = workspace_with_pair(folder / f"killed{number}")
        had = kill_until_done(workspace, draw, within_s, kills - done)
        done += had
        wrong = [*leftovers(workspace, reference), *differences(workspace, reference)]
        sound = sound and not wrong
        say(f"pipeline {number}: {had} kills; {'the same' if not wrong else ', '.join(wrong)}")
        if not wrong:
            shutil.rmtree(workspace.folder)
    say(f"{done} kills of {number} pipelines: {'nothing lost, nothing left' if sound else 'see above'}")
    return sound


def main() -> int:
    """The exit code of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.workflow.kills", description="Kill pipelines.")
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    return 0 if run(options.folder, options.kills, options.seed, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
