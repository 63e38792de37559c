"""Prepare a run with another seed; its engine then takes the place of this process."""

import os
import shlex
from pathlib import Path

from torsweep.ending import run_script
from torsweep.runsets.run import repeat_run


def _work() -> None:
    params = snakemake.params
    run = repeat_run(Path(params.original), Path(params.out), wait=True)
    print(f"{params.out}: prepared: seed {run.seed}; engine {run.engine}", flush=True)
    words = [*shlex.split(params.engine_run), params.out, "--progress"]
    os.execvp(words[0], words)


run_script(snakemake, _work)
