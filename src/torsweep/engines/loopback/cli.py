"""``torsweep loopback``: runs with real processes on this machine.

    torsweep loopback run RUN_DIR --progress
    torsweep loopback check refill --out DIR

In: the command line. Out: the tables of a run in RUN_DIR; or what a knob was measured to do, as a table.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

loopback_app = typer.Typer(
    help="Run small networks of real tor in real time on this machine.", no_args_is_help=True
)


class CheckName(StrEnum):
    """What is measured: see :mod:`torsweep.engines.loopback.checks`."""

    REFILL = "refill"
    CIRCUITS = "circuits"
    WAKING = "waking"


class DelayChoice(StrEnum):
    """How the delay between hosts is made."""

    PROXY = "proxy"
    NONE = "none"


@loopback_app.command("run")
def run_command(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A prepared run directory.")],
    progress: Annotated[
        bool, typer.Option("--progress", help="Say on standard error how far it is.")
    ] = False,
    delay: Annotated[
        DelayChoice, typer.Option(help="RTTs of the network by a proxy in user space, or this machine's own.")
    ] = DelayChoice.PROXY,
    tools: Annotated[Path, typer.Option(help="Folder of tor's builds.")] = Path("results/tools/tor"),
    ready_limit: Annotated[float, typer.Option(min=1, help="Seconds until the network must be ready.")] = 240,
) -> None:
    """Run what run.json says; leave streams, relays, progress and, last, provenance.json."""
    from torsweep.engines.loopback.run import run_loopback
    from torsweep.tor.build import find_build

    run_loopback(
        run_directory, find_build(tools), delay=delay.value, progress=progress, ready_limit_s=ready_limit
    )


@loopback_app.command("check")
def check_command(
    name: Annotated[CheckName, typer.Argument(help="What to measure.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs; those that are whole are not made again.")],
    tools: Annotated[Path, typer.Option(help="Folder of tor's builds.")] = Path("results/tools/tor"),
) -> None:
    """Measure what a knob does in real tor: a run of a minute or two a condition."""
    from torsweep.engines.loopback.checks import as_text, run_check
    from torsweep.tor.build import find_build

    rows = run_check(name.value, out, find_build(tools), lambda line: typer.echo(line, err=True))
    typer.echo(as_text(rows))
