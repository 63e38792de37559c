"""The experiments that can be asked for by name.

In: the folder of all experiments. Out: the name of each with the question that it asks and the figures that
it draws. A new folder is a target of the pipeline as soon as it is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.errors import TorsweepError
from torsweep.formats.yaml_file import read_yaml

_FIGURE = re.compile("[a-z_]+")


@dataclass(frozen=True)
class Target:
    """What Snakemake has to know of an experiment before it is asked for."""

    question: str
    figures: tuple[str, ...]


def experiment_targets(directory: Path = EXPERIMENTS_DIRECTORY) -> dict[str, Target]:
    """The experiments of ``directory``, by name in alphabetical order.

    One whose experiment.yaml is wrong has no figures, and stops only itself: as a target it says what is
    wrong.
    """
    files = sorted(directory.glob("*/experiment.yaml"))
    return {file.parent.name: _target(file) for file in files}


def _target(file: Path) -> Target:
    try:
        document = read_yaml(file)
    except TorsweepError:
        document = None
    found = document if isinstance(document, dict) else {}
    question, figures = found.get("question"), found.get("figures")
    return Target(
        question if isinstance(question, str) else f"{file} cannot be read",
        tuple(name for name in figures if isinstance(name, str) and _FIGURE.fullmatch(name))
        if isinstance(figures, list)
        else (),
    )
