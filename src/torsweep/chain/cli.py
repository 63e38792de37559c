"""``torsweep chain`` and ``torsweep clocks``: real tor on a chain of three relays, and every clock's cost.

In: the command line. Out: the results in a folder, and the same to read on standard output.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import CHAIN_FOLDER, OutputFolder


class Measurement(StrEnum):
    """The measurements of :mod:`torsweep.chain.turns`."""

    CLOCKS = "clocks"
    TRACING = "tracing"
    QUANTUM = "quantum"


def chain_command(
    name: Annotated[Measurement, typer.Argument(metavar="PLAN", help=f"One of {', '.join(Measurement)}.")],
    out: Annotated[
        Path,
        typer.Option(
            parser=OutputFolder(CHAIN_FOLDER),
            help="Folder for the results.",
        ),
    ],
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Rounds; 12 for tracing, else 6."),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(min=0.5, max=600, help="Seconds of load that count in a turn; 15 for quantum, else 3."),
    ] = None,
    small: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds of small requests in a turn.")
    ] = 1.0,
    tools: Annotated[Path, typer.Option("--tools", help="Folder of tor's builds.")] = Path(
        "results/tools/tor"
    ),
) -> None:
    """Measure real tor on a chain of relays: what clocks, tracing and the steps of a clock cost."""
    from torsweep.chain.command import run_plan
    from torsweep.engines.emulation.rights import become_able
    from torsweep.tor.builds import find_build

    tor = find_build(tools)
    become_able()
    typer.echo(run_plan(name.value, out, tor, partial(typer.echo, err=True), rounds, load, small))


def clocks_command(
    rounds: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many times each clock is measured.")
    ] = 41,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the program's JSON, with the machine.")
    ] = False,
) -> None:
    """Measure what a call costs for every clock of this system."""
    import json

    from torsweep.chain.command import measure_clocks, print_clocks
    from torsweep.provenance import machine

    measured = measure_clocks(rounds)
    if as_json:
        typer.echo(json.dumps({**measured, "machine": dict(machine())}, indent=1))
    else:
        print_clocks(measured)
