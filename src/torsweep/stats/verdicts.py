"""Verdicts on a terminal.

In: a folder that ``torsweep results summarize`` wrote. Out: a table a claim, on standard output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.errors import InputError

_COLOURS = {"holds": "green", "contradicted": "red", "yes": "green", "no": "red"}


def print_verdicts(summaries: Path, console: Console | None = None) -> None:
    """Print what ``claims.json`` in ``summaries`` says; raises InputError when there is none."""
    file = summaries / "claims.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file: run `torsweep results summarize` first", file=file) from error
    except json.JSONDecodeError as error:
        raise InputError("is no whole JSON file", file=file) from error
    console = console or Console()
    if not content["claims"]:
        console.print(f"{content['experiment']} makes no claims.")
    for claim in content["claims"]:
        console.print(_headline(claim))
        if claim["comparisons"]:
            console.print(_comparisons(claim["comparisons"]))


def _headline(claim: dict[str, Any]) -> Text:
    where = f" ({claim['setting']})" if claim["setting"] else ""
    return Text.assemble(
        "\n",
        (claim["claim"], "bold"),
        f"{where}: {claim['text']}\n",
        (claim["verdict"], f"bold {_COLOURS.get(claim['verdict'], 'yellow')}"),
        f": {claim['reason']}",
    )


def _comparisons(comparisons: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("comparison", "value", "interval", "required", "shown"):
        table.add_column(header, justify="left" if header == "comparison" else "right")
    for item in comparisons:
        interval = item["interval"]
        bounds = "–"
        if interval["low"] is not None:
            bounds = f"[{interval['low']:.3f}, {interval['high']:.3f}] at {interval['confidence']:.0%}"
        value = "–" if interval["mean"] is None else f"{interval['mean']:.3f}"
        shows = Text(item["shows"], style=_COLOURS.get(item["shows"], "yellow"))
        table.add_row(item["statement"], value, Text(bounds), item["required"], shows)
    return table
