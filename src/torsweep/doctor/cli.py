"""``torsweep doctor``: what this machine has for each engine, and what it lacks.

In: the command line, PATH and the environment variables that name tools (``TORSWEEP_SHADOW``,
``TORSWEEP_TGEN``, ``TORSWEEP_ONIONTRACE``: a program, or the folder it is in). Out: tables on standard
output. The exit code is 0 when the engine asked for can run, or without one when any can; else 3.
"""

from __future__ import annotations

from typing import Annotated

import typer

from torsweep.engines.contract import engine_names
from torsweep.errors import InputError


def doctor_command(
    engine: Annotated[
        str | None, typer.Option(help=f"Look at this engine alone: {', '.join(engine_names())}.")
    ] = None,
) -> None:
    """Say which engines can run here, what is missing and how large a network may be."""
    from rich.console import Console

    from torsweep.doctor.diagnose import REQUIRED, diagnose

    if engine is not None and engine not in REQUIRED:
        raise InputError("no such engine", key="--engine", value=engine, accepted=", ".join(REQUIRED))
    diagnosis = diagnose([engine] if engine is not None else list(REQUIRED))
    diagnosis.show(Console())
    raise typer.Exit(0 if any(outlook.can_run for outlook in diagnosis.outlooks) else 3)
