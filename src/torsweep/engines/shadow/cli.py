"""``torsweep shadow run``: run a prepared run under Shadow.

In: the command line. Out: tables and provenance.json in RUN_DIR; progress on standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import RUN_FOLDER, OutputFolder

app = typer.Typer(help="Run real tor and TGen under Shadow.", no_args_is_help=True)


@app.command("run")
def run_command(
    run_directory: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_DIR", parser=OutputFolder(RUN_FOLDER), help="A run that `run prepare` made."
        ),
    ],
    progress: Annotated[
        bool, typer.Option("--progress", help="Say on standard error how far the run is.")
    ] = False,
    threads: Annotated[int, typer.Option(min=0, help="Cores that the run may use; 0: all.")] = 0,
    latency_floor: Annotated[
        int, typer.Option(min=1, help="The least one-way latency between hosts, in microseconds.")
    ] = 5_000,
    keep_logs: Annotated[
        bool, typer.Option("--keep-logs", help="Leave logs and Shadow's files as they are.")
    ] = False,
) -> None:
    """Simulate a prepared run and write its tables."""
    from torsweep.engines.shadow.run import run_shadow
    from torsweep.engines.shadow.simulate import ShadowSettings

    settings = ShadowSettings(threads, latency_floor)
    run_shadow(run_directory, settings, _say if progress else lambda _: None, keep_logs=keep_logs)


def _say(line: str) -> None:
    print(f"torsweep: {line}", file=sys.stderr, flush=True)
