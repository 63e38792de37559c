"""``torsweep shadow``: run a prepared run under Shadow, or only write what Shadow reads.

In: the command line. Out: tables and provenance.json in RUN_DIR; progress on standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import RUN_FOLDER, TORNETTOOLS_FOLDER, OutputFolder

app = typer.Typer(help="Run real tor and TGen under Shadow.", no_args_is_help=True)

RunDirectory = Annotated[
    Path,
    typer.Argument(metavar="RUN_DIR", parser=OutputFolder(RUN_FOLDER), help="A run that `run prepare` made."),
]
Threads = Annotated[int, typer.Option(min=0, help="Cores that the run may use; 0: all.")]
Trace = Annotated[
    bool, typer.Option("--trace/--no-trace", help="Record the clients' circuits and streams with OnionTrace.")
]
Floor = Annotated[int, typer.Option(min=1, help="The least one-way latency between hosts, in microseconds.")]
OtherSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Another realisation of the same network; the run's own when left out."),
]
Progress = Annotated[bool, typer.Option("--progress", help="Say on standard error how far the run is.")]


@app.command("run")
def run_command(
    run_directory: RunDirectory,
    progress: Progress = False,
    threads: Threads = 0,
    trace: Trace = True,
    latency_floor: Floor = 5_000,
    seed: OtherSeed = None,
    keep_logs: Annotated[
        bool, typer.Option("--keep-logs", help="Leave logs and Shadow's files as they are.")
    ] = False,
) -> None:
    """Simulate a prepared run and write its tables."""
    from torsweep.engines.shadow.run import run_shadow
    from torsweep.engines.shadow.simulate import ShadowSettings

    settings = ShadowSettings(threads, latency_floor, trace, seed)
    run_shadow(run_directory, settings, _say if progress else lambda _: None, keep_logs=keep_logs)


@app.command("write")
def write_command(
    run_directory: RunDirectory,
    threads: Threads = 0,
    trace: Trace = True,
    latency_floor: Floor = 5_000,
    seed: OtherSeed = None,
) -> None:
    """Write what Shadow reads of a run, and say what it will take, without running it."""
    from torsweep.engines.run_spec import read_run
    from torsweep.engines.shadow.run import write_alone
    from torsweep.engines.shadow.simulate import ShadowSettings, projected_bytes
    from torsweep.engines.shadow.tools import find_tools

    settings = ShadowSettings(threads, latency_floor, trace, seed)
    tools = find_tools(read_run(run_directory))
    written = write_alone(run_directory, settings, tools, _say)
    typer.echo(f"about {projected_bytes(written.simulation) / 1e9:.1f} GB of memory when it runs")


@app.command("read")
def read_command(run_directory: RunDirectory) -> None:
    """Write the tables of a simulation anew, from the logs that it left."""
    from torsweep.engines.shadow.run import read_again

    read_again(run_directory)


@app.command("preflight")
def preflight_command() -> None:
    """Measure whether hosts get their rates, both ways, and whether TCP measures round trips."""
    from torsweep.engines.shadow import preflight
    from torsweep.engines.shadow.tools import find_tools

    tools = find_tools()
    measured = preflight.measure(tools)
    preflight.check(measured, tools)
    typer.echo(f"{measured['down'] / 1e6:.3f} MB/s down, {measured['up'] / 1e6:.3f} MB/s up: as asked for")
    typer.echo(f"{tools.round_trips.text}: tcpi_rtt {tools.round_trips.tcpi_rtt}; engine {tools.engine}")


@app.command("for-tornettools")
def for_tornettools_command(
    run_directory: RunDirectory,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", parser=OutputFolder(TORNETTOOLS_FOLDER), help="For tornettools to parse."
        ),
    ],
) -> None:
    """Write the logs of a run in the layout that `tornettools parse` and `plot` read."""
    from torsweep.engines.shadow.interop import lay_out_for_tornettools

    names, converge_s = lay_out_for_tornettools(run_directory, out)
    typer.echo(f"{out}: {len(names)} hosts; next: tornettools parse -c {converge_s} {out}")


def _say(line: str) -> None:
    print(f"torsweep: {line}", file=sys.stderr, flush=True)
