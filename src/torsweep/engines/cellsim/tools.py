"""The program of the engine.

In: PATH. Out: the path of cellsim, or a ToolMissing that says how to get it; its version.
"""

from __future__ import annotations

from pathlib import Path

from torsweep.engines.own_programs import find_own_program, require_own_program
from torsweep.provenance import program_version


def find_cellsim() -> Path | None:
    """The program cellsim; None when it is not there."""
    return find_own_program("cellsim")


def require_cellsim() -> Path:
    """The program cellsim; ToolMissing when it is not there."""
    return require_own_program("cellsim")


def cellsim_version() -> str:
    """What ``cellsim --version`` says; empty when the program is not there or says nothing."""
    program = find_cellsim()
    return (program_version(program) if program else None) or ""
