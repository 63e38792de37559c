"""``torsweep emulation``: runs with real tor on this machine's kernel, over emulated links.

    torsweep emulation run RUN_DIR --progress
    torsweep emulation check refill --out DIR

In: the command line. Out: the tables of a run in RUN_DIR; or what a knob was measured to do, as a table.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import KNOB_CHECKS, RUN

emulation_app = typer.Typer(
    help="Run real tor in real time on this machine's kernel, over emulated links.", no_args_is_help=True
)

TorBuilds = Annotated[Path, typer.Option("--tools", help="Folder of tor's builds.")]


class CheckName(StrEnum):
    """Which check to make: see :mod:`torsweep.engines.emulation.checks`."""

    REFILL = "refill"
    CIRCUITS = "circuits"
    WAKING = "waking"


@emulation_app.command("run")
def run_command(
    run_directory: Annotated[
        Path, typer.Argument(metavar="RUN_DIR", parser=OutputFolder(RUN), help="A prepared run directory.")
    ],
    progress: Annotated[
        bool, typer.Option("--progress", help="Say on standard error how far it is.")
    ] = False,
    tools: TorBuilds = Path("results/tools/tor"),
    ready_limit: Annotated[float, typer.Option(min=1, help="Seconds until the network must be ready.")] = 900,
) -> None:
    """Run what run.json says; leave its tables and, last, provenance.json."""
    from torsweep.engines.emulation.rights import become_able
    from torsweep.engines.emulation.run.engine import run_emulation
    from torsweep.engines.emulation.tools import find_tools

    found = find_tools(tools)
    become_able()
    run_emulation(run_directory, found, progress=progress, ready_limit_s=ready_limit)


@emulation_app.command("check")
def check_command(
    name: Annotated[CheckName, typer.Argument(help="What to measure.")],
    out: Annotated[
        Path,
        typer.Option(
            parser=OutputFolder(KNOB_CHECKS),
            help="Folder for the runs; those that are whole are not made again.",
        ),
    ],
    tools: TorBuilds = Path("results/tools/tor"),
) -> None:
    """Measure what a knob does in real tor: a run of a minute or two a condition."""
    from torsweep.engines.emulation.checks import as_text, run_check
    from torsweep.engines.emulation.rights import become_able
    from torsweep.engines.emulation.tools import find_tools

    found = find_tools(tools)
    become_able()
    rows = run_check(name.value, out, found, lambda line: typer.echo(line, err=True))
    typer.echo(as_text(rows))
