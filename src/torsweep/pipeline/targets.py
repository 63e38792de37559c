"""The experiments that can be asked for by name.

In: the folder of all experiments. Out: the name of each with the question that it asks. A new folder is a
target of the pipeline as soon as it is there.
"""

from __future__ import annotations

from pathlib import Path

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.errors import TorsweepError
from torsweep.formats.yaml_file import read_yaml


def experiment_questions(directory: Path = EXPERIMENTS_DIRECTORY) -> dict[str, str]:
    """The question of each experiment of ``directory``, by name in alphabetical order.

    One whose experiment.yaml is wrong has none, and stops only itself: as a target it says what is wrong.
    """
    files = sorted(directory.glob("*/experiment.yaml"))
    return {file.parent.name: _question(file) for file in files}


def _question(file: Path) -> str:
    try:
        document = read_yaml(file)
    except TorsweepError:
        document = {}
    question = document.get("question") if isinstance(document, dict) else None
    return question if isinstance(question, str) else f"{file} cannot be read"
