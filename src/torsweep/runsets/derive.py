"""Repeats: runs with another seed, which differ from their originals by chance alone.

In: a run directory. Out: another one with its run.json, for an engine to run. It has the network, the variant
and everything else of its original but another ``seed``: other pauses, other servers, other circuits unless
they are given.
"""

from __future__ import annotations

import os
from pathlib import Path

from torsweep.engines.run_directory import write_run
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.seeds import repeat_seed


def repeat_run(original: Path, out: Path, *, wait: bool = False) -> RunSpec:
    """Write the repeat of the run in ``original`` into ``out`` and return it.

    Raises OutputError when ``out`` cannot be written or an engine is at work in it.
    """
    run = read_run(original)
    update = {"seed": repeat_seed(run.seed), "network": _from(out, original, run.network)}
    repeat = run.model_copy(update=update)
    write_run(repeat, out, wait=wait)
    return repeat


def _from(out: Path, original: Path, network: str) -> str:
    """The network directory relative to ``out``, from what it is relative to ``original``."""
    return os.path.relpath((original / network).resolve(), out.resolve())
