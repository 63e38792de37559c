"""``torsweep clocks``: what a call costs for every clock of this system.

In: how often each is measured. Out: what the program ``clocks`` says, as JSON or as a table; it names neither
host nor user.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from torsweep.errors import TorsweepError
from torsweep.provenance import machine

WAYS = {"library": "C library", "system_call": "system call"}
"""How the program says a clock was asked, and how a reader would."""

WIDTH = 100
"""Columns of the table, which does not fit into 80."""


def measure_clocks(rounds: int) -> dict[str, Any]:
    """What the program ``clocks`` says after ``rounds`` rounds.

    Raises ToolMissing when it is not there, TorsweepError when it fails.
    """
    from torsweep.engines.tools import require_own_program

    program = require_own_program("clocks")
    done = subprocess.run([str(program), str(rounds)], capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise TorsweepError(f"clocks: failed with exit code {done.returncode}: {words}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def print_clocks(measured: Mapping[str, Any]) -> None:
    """Print ``measured`` as a table: a row for each clock, with its costs in each way."""
    from rich.console import Console
    from rich.table import Table

    ways = list(dict.fromkeys(cost["way"] for clock in measured["clocks"] for cost in clock["costs"]))
    table = Table(box=None, pad_edge=False)
    for header in ("clock", "resolution", "step", *(f"{WAYS[way]}, ns" for way in ways)):
        table.add_column(header, justify="left" if header == "clock" else "right")
    for clock in measured["clocks"]:
        costs = {cost["way"]: cost_text(cost) for cost in clock["costs"]}
        times = (time_text(clock[name]) for name in ("resolution_ns", "step_ns"))
        table.add_row(clock["name"], *times, *(costs.get(way, "–") for way in ways))
    console = Console(width=WIDTH)
    console.print(table)
    source = measured["clocksource"]
    console.print(
        f"\nMedians of {measured['rounds']} rounds, with quartiles, less a loop of"
        f" {measured['loop_ns']:.2f} ns; {measured['system']}"
        + (f", clock source {source}." if source else "."),
        highlight=False,
    )


def cost_text(cost: Mapping[str, float]) -> str:
    """``21.3 [21.2, 21.5]``: the median and the quartiles."""
    return f"{cost['median_ns']:.1f} [{cost['q1_ns']:.1f}, {cost['q3_ns']:.1f}]"


def time_text(nanoseconds: float | None) -> str:
    """``4 ms``, ``1 ns``; a dash where it is not known."""
    if nanoseconds is None:
        return "–"
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def clocks_command(
    rounds: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many times each clock is measured.")
    ] = 41,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the program's JSON, with the machine.")
    ] = False,
) -> None:
    """Measure what a call costs for every clock of this system."""
    measured = measure_clocks(rounds)
    if as_json:
        typer.echo(json.dumps({**measured, "machine": dict(machine())}, indent=1))
    else:
        print_clocks(measured)
