"""Verdicts on a terminal.

In: a folder that ``torsweep results summarize`` wrote. Out: a table for each claim, on standard output.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.stats.claims_file import StatedComparison, StatedVerdict, read_claims

_COLOURS = {"holds": "green", "contradicted": "red", "yes": "green", "no": "red"}


def print_verdicts(summaries: Path, console: Console | None = None) -> None:
    """Print what ``claims.json`` in ``summaries`` says; raises InputError when there is none."""
    content = read_claims(summaries)
    console = console or Console()
    if not content.claims:
        console.print(f"{content.experiment} makes no claims.")
    for claim in content.claims:
        console.print(_headline(claim))
        if claim.comparisons:
            console.print(_comparisons(claim.comparisons))


def _headline(claim: StatedVerdict) -> Text:
    where = f" ({claim.setting})" if claim.setting else ""
    return Text.assemble(
        "\n",
        (claim.claim, "bold"),
        f"{where}: {claim.text}\n",
        (claim.verdict, f"bold {_COLOURS.get(claim.verdict, 'yellow')}"),
        f": {claim.reason}",
    )


def _comparisons(comparisons: Sequence[StatedComparison]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("comparison", "value", "interval", "required", "shown"):
        table.add_column(header, justify="left" if header == "comparison" else "right")
    for item in comparisons:
        interval = item.interval
        bounds = "–"
        if interval.low is not None and interval.high is not None:
            bounds = f"[{interval.low:.3f}, {interval.high:.3f}] at {interval.confidence:.0%}"
        value = "–" if interval.mean is None else f"{interval.mean:.3f}"
        shows = Text(item.shows, style=_COLOURS.get(item.shows, "yellow"))
        table.add_row(Text(item.statement), value, Text(bounds), Text(item.required), shows)
    return table
