"""Which engine runs an experiment, and where its program is.

In: ``auto`` or the name of an engine. Out: the name of an engine that this version has, with one
sentence on why, and the path of its program.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, ToolMissing

AUTO = "auto"

PROGRAMS = {"cellsim": "cellsim"}
"""The engines that this version has, and the program each one is."""

PREFERENCE = ("shadow", "cellsim")
"""What ``auto`` takes, the first that can run: real tor where it is installed, else the model of it."""


@dataclass(frozen=True)
class Choice:
    """An engine and the reason for it."""

    engine: str
    reason: str


def find_program(name: str) -> Path | None:
    """The program ``name``: on PATH, or beside the Python that is running; None when in neither."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name) or shutil.which(name, path=beside)
    return Path(found) if found else None


def choose_engine(wanted: str, experiment_engines: Sequence[str]) -> Choice:
    """The engine ``wanted``, or for ``auto`` the preferred one that can run the experiment.

    Raises InputError when this version has no such engine, or the experiment does not list it.
    """
    usable = [name for name in PREFERENCE if name in PROGRAMS and name in experiment_engines]
    accepted = ", ".join([AUTO, *usable])
    if wanted == AUTO and usable:
        engine = next((name for name in usable if find_program(PROGRAMS[name])), usable[-1])
        return Choice(engine, _reason(engine))
    if wanted in PREFERENCE and wanted not in PROGRAMS:
        raise InputError(f"this version has no engine {wanted} yet", key="engine", accepted=accepted)
    if wanted not in usable:
        raise InputError(
            "no engine that can run this experiment", key="engine", value=wanted, accepted=accepted
        )
    return Choice(wanted, "asked for")


def _reason(engine: str) -> str:
    passed_over = PREFERENCE[: PREFERENCE.index(engine)]
    if not passed_over:
        return "preferred, and installed"
    why = [
        f"{name} is not installed"
        if find_program(PROGRAMS.get(name, name)) is None
        else f"{name} is installed, but this version has no engine for it yet"
        for name in passed_over
    ]
    return "; ".join(why)


def require_program(engine: str) -> Path:
    """The program of ``engine``; ToolMissing, saying how to get it, when it is not installed."""
    program = find_program(PROGRAMS[engine])
    if program is None:
        raise ToolMissing(
            f"{PROGRAMS[engine]}: not on PATH, nor beside {Path(sys.executable).name}; `make setup` builds it"
        )
    return program
