"""A study: a folder of the user's own, outside the checkout, in which the pipeline runs.

In: where, and an experiment. Out: the folder, with what ``snakemake`` needs there; the rest is found in the
checkout (:mod:`torsweep.home`). Only its README names a path of this machine.
"""

from __future__ import annotations

import os
import re
import string
import sys
from pathlib import Path

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.engines.registry import find_engine
from torsweep.errors import OutputError
from torsweep.home import CHECKOUT
from torsweep.pipeline.checks import require_experiment_name
from torsweep.storage import write_text
from torsweep.storage.folders import EXPERIMENT_FILE, STUDY_FOLDER, files_of, own_folder

SNAKEFILE = "Snakefile"
PROFILE = Path("profiles/default/config.yaml")
_TEMPLATES = Path(__file__).with_name("templates")


_FOR_A_MODEL = {
    r"Two values of one line of torrc": "Two levels of a knob",
    r"Change `options` below": "Change `knobs` below",
    r"(?s)# Bundles of options.*?(?=knobs:)": "# `torsweep config knobs` lists the knobs and their levels.\n",
    r"options: \[slow, fast\]": "scheduler: [kist_10ms, kist_2ms]",
    r"options: slow": "scheduler: kist_10ms",
    r"knob: options": "knob: scheduler",
    r"level: fast": "level: kist_2ms",
    r"every millisecond": "every two milliseconds",
}
"""What the example says for an engine that reads no torrc, in place of what matches."""


def new_study(folder: Path, experiment_name: str, engine: str | None = None) -> None:
    """Make a study of the example in ``folder``, for an ``engine`` or all of real tor.

    Raises OutputError where it holds something or lies inside the checkout, InputError for a name that no
    experiment can have, and for what is no engine.
    """
    if folder.resolve().is_relative_to(CHECKOUT.resolve()):
        problem = "is inside the checkout of torsweep; accepted: a new folder outside of it"
        raise OutputError(f"{folder}: {problem}")
    if folder.is_dir() and (held := _held(folder, experiment_name)):
        raise OutputError(f"{folder}: holds {held}; accepted: a new or empty folder")
    text = (_TEMPLATES / EXPERIMENT_FILE).read_text(encoding="utf-8")
    write_study(folder, experiment_name, text if engine is None else _example_for(text, engine))


def _held(folder: Path, experiment_name: str) -> str:
    """The first file in ``folder`` that a command which ended early has not left; empty for none."""
    require_experiment_name(experiment_name)
    ours = _texts(folder.resolve().name, experiment_name)
    others = (name for name in files_of(folder) if not _is_left(folder / name, ours.get(name)))
    return next(others, "")


def _is_left(path: Path, text: str | None) -> bool:
    """Whether ``path`` is a folder for the experiment, which is written last, or has ``text`` in it."""
    return path.is_dir() or (text is not None and path.read_bytes() == text.encode(errors="replace"))


def _example_for(text: str, engine: str) -> str:
    chosen = find_engine(engine)
    changes = {r"(?s)# Options of tor need.*?engines: .*?\n": f"engines: [{chosen.name}]\n"}
    changes |= {} if chosen.runs_tor else _FOR_A_MODEL
    for pattern, instead in changes.items():
        text = re.sub(pattern, instead, text)
    return text


def write_study(folder: Path, experiment_name: str, experiment_text: str) -> None:
    """Write the study in ``folder``, with ``experiment_text`` as the experiment.yaml of ``experiment_name``;
    in a study that is there, bring this file up to date, and touch nothing else.

    Raises OutputError when ``folder`` holds anything but a study, InputError for a name that cannot be one.
    """
    require_experiment_name(experiment_name)
    own_folder(folder, STUDY_FOLDER)
    for name, text in _texts(folder.resolve().name, experiment_name).items():
        if not (folder / name).exists():
            write_text(folder / name, text)
    file = folder / EXPERIMENTS_DIRECTORY / experiment_name / EXPERIMENT_FILE
    if not file.is_file() or file.read_text(encoding="utf-8") != experiment_text:
        write_text(file, experiment_text)


def _texts(study: str, experiment: str) -> dict[str, str]:
    """The files of every study beside its experiments, by path."""
    readme = string.Template(_template("README.md")).substitute(
        study=study,
        experiment=experiment,
        programs=Path(sys.executable).parent,
        cores=len(os.sched_getaffinity(0)),
    )
    return {"README.md": readme, **shared_texts(), ".gitignore": _template("gitignore")}


def shared_texts() -> dict[str, str]:
    """The files that the pipeline needs in every study, by path; none contains a path of this machine."""
    return {
        SNAKEFILE: _template(SNAKEFILE),
        str(PROFILE): (CHECKOUT / PROFILE).read_text(encoding="utf-8"),
    }


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
