"""Pipelines forked from a process that has imported Snakemake: each takes a second less of the processor.

In: the arguments of ``snakemake``, a working directory. Out: its exit code and what it said. The process that
is forked has this one's environment and nothing else of it.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["snakemake.cli", "torsweep.config.experiment"])


def snakemake(arguments: Sequence[str], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run ``snakemake`` in ``folder`` to its end; standard output and error together."""
    descriptor, name = tempfile.mkstemp()
    os.close(descriptor)
    said = Path(name)
    try:
        process = _FORKS.Process(target=_run, args=(list(arguments), folder, dict(os.environ), said))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(["snakemake", *arguments], timeout_s, said.read_text())
        return subprocess.CompletedProcess(["snakemake", *arguments], process.exitcode, said.read_text())
    finally:
        said.unlink()


def _run(arguments: list[str], folder: Path, environment: dict[str, str], said: Path) -> None:
    """What the forked process does: ``python -m snakemake`` with its output in the file ``said``."""
    from snakemake.cli import main

    output = os.open(said, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["snakemake", *arguments]
    main()
