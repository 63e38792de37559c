"""Commands that leave run folders: what others made, and runs made from one that is there.

    torsweep import tornettools tornet-1 tornet-2 … --as vanilla
    torsweep run repeat RUN_DIR --out REPEAT_DIR
    torsweep run replay RUN_DIR --out REPLAY_DIR

In: folders of simulations; or a finished run. Out: an import (:mod:`torsweep.runsets.imported`) below
results/imports; or run.json, for an engine to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import RUN_FOLDER, OutputFolder

Original = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run that it is made from.")]
Out = Annotated[
    Path, typer.Option(parser=OutputFolder(RUN_FOLDER), help="Run directory; made where it is missing.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for an engine at work in it instead of refusing.")]


def repeat_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run again with another seed: the two differ by chance alone."""
    from torsweep.runsets.derive import derive

    run = derive(original, out, replay=False, wait=wait)
    typer.echo(f"{out}: prepared: seed {run.seed}; engine {run.engine}")


def replay_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run of cellsim on the circuits that tor used in the measured time of a run of Shadow."""
    from torsweep.runsets.derive import derive

    run = derive(original, out, replay=True, wait=wait)
    typer.echo(f"{out}: prepared: the circuits of {len(run.paths or {})} clients; engine {run.engine}")
