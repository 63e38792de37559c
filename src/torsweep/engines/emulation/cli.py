"""``torsweep emulation``: runs with real tor on this machine's kernel, over emulated links.

In: the command line. Out: the tables of a run in RUN_DIR.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import RUN_FOLDER, OutputFolder

app = typer.Typer(
    help="Run real tor in real time on this machine's kernel, over emulated links.", no_args_is_help=True
)


@app.command("run")
def run_command(
    run_directory: Annotated[
        Path,
        typer.Argument(metavar="RUN_DIR", parser=OutputFolder(RUN_FOLDER), help="A prepared run directory."),
    ],
    progress: Annotated[
        bool, typer.Option("--progress", help="Say on standard error how far it is.")
    ] = False,
) -> None:
    """Run what run.json says; leave its tables and, last, provenance.json.

    A run that falls behind real time is tried again, twice at most.
    """
    from torsweep.engines.emulation.rights import become_able, find_tools
    from torsweep.engines.emulation.run import run_in_tries
    from torsweep.engines.run_spec import read_run

    programs = find_tools(read_run(run_directory))
    become_able()
    run_in_tries(run_directory, programs, progress=progress)
