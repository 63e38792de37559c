"""``torsweep loopback``: what a choice costs real tor, over this machine's own interface.

    torsweep loopback clocks --out DIR

In: the command line. Out: samples and their comparison in DIR, and the comparison on standard output.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import KNOB_CHECKS


class PlanName(StrEnum):
    """What is compared: see :mod:`torsweep.loopback.plan`."""

    CLOCKS = "clocks"
    TRACING = "tracing"
    QUANTUM = "quantum"


def loopback_command(
    name: Annotated[PlanName, typer.Argument(help="What to compare.")],
    out: Annotated[Path, typer.Option(parser=OutputFolder(KNOB_CHECKS), help="Folder for the results.")],
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Relays of each variant, one a round; 12 for tracing, else 6."),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(min=0.5, max=600, help="Seconds of load that count, a turn; 15 for quantum, else 3."),
    ] = None,
    small: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of small requests, a turn.")] = 1.0,
    tools: Annotated[Path, typer.Option("--tools", help="Folder of tor's builds.")] = Path(
        "results/tools/tor"
    ),
) -> None:
    """Measure, without links, what clocks or tracing cost real tor, or what a quantum does to a bucket."""
    from torsweep.engines.emulation.rights import become_able
    from torsweep.loopback.command import run_plan
    from torsweep.tor.build import find_build

    tor = find_build(tools)
    become_able()
    say = partial(typer.echo, err=True)
    typer.echo(run_plan(name.value, out, tor, say, rounds, load, small))
