"""Runs whose cells are traced leave one file more, and have rules of their own for it.

In: an experiment, or the folder of all experiments. Out: the files of its runs; a pattern of the names of
those that trace cells.
"""

from __future__ import annotations

import re

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment
from torsweep.pipeline.results_tree import RUN_FILES, TRACED_RUN_FILES

_TRACING = re.compile(r"^tracing:", re.MULTILINE)
"""The line of an experiment.yaml that asks for traces. No experiment.yaml is parsed before its experiment is
asked for, so that an invalid one stops only its own experiment."""


def run_files(experiment: Experiment) -> tuple[str, ...]:
    """The files of each run of ``experiment``."""
    return TRACED_RUN_FILES if experiment.tracing else RUN_FILES


def traced_experiments() -> str:
    """A pattern of the names of the experiments that trace cells; one that matches nothing where none
    does."""
    files = sorted(EXPERIMENTS_DIRECTORY.glob("*/experiment.yaml"))
    traced = [file.parent.name for file in files if _TRACING.search(file.read_text(encoding="utf-8"))]
    return "|".join(map(re.escape, traced)) or "(?!)"
