"""``torsweep loopback``: what a choice costs real tor, over this machine's own interface.

    torsweep loopback clocks --out DIR

In: the command line. Out: samples and their comparison in DIR, and the comparison on standard output.
"""

from __future__ import annotations

from enum import StrEnum
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
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Relays of each variant, one a round.")] = 6,
    load: Annotated[float, typer.Option(min=0.5, max=600, help="Seconds of load that count, a turn.")] = 3.0,
    small: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of small requests, a turn.")] = 1.0,
    tools: Annotated[Path, typer.Option("--tools", help="Folder of tor's builds.")] = Path(
        "results/tools/tor"
    ),
) -> None:
    """Measure, without links, what clocks or tracing cost real tor, or what a quantum does to a bucket."""
    from torsweep.engines.emulation.rights import become_able
    from torsweep.loopback.command import run_plan
    from torsweep.loopback.measuring import Lengths
    from torsweep.tor.build import find_build

    tor = find_build(tools)
    become_able()
    lengths = Lengths(small_s=small, load_s=load)
    text = run_plan(name.value, out, tor, rounds, lengths, lambda line: typer.echo(line, err=True))
    typer.echo(text)
