"""What the figures of streams that share a circuit have in common.

In: a :class:`~plotting.source.Source` of runs with a table of progress. Out: its levels in their columns and
rows, and the notes that their captions owe.
"""

from __future__ import annotations

import polars as pl

from plotting.palette import level_name
from plotting.source import Source
from torsweep.errors import InputError

CELL_BYTES = 498
REPORT_CELLS = 10_000
"""Cells of a stream in the report; a plan with fewer says so."""

_DELAYS = {
    "proxy": "those of the network, by a proxy in user space",
    "none": "this machine's own, next to nothing",
}
"""In words, what engines of real time call the mechanism that delays their bytes."""

_STARVED = "Starved: less than a quarter of its cells when the first stream is complete."


def require_progress(source: Source) -> None:
    """Raise InputError for a plan whose runs have no table of progress."""
    if not source.tables.has_progress:
        raise InputError(
            "has no progress.parquet", file=source.tables.directory, accepted="a plan with progress: true"
        )


def notes(source: Source) -> list[str]:
    """Where the round trips come from, what was scaled down, and what starving means."""
    found = [delay_note(source)]
    cells = [level for level in source.knobs.get("cells", []) if int(level) < REPORT_CELLS]
    if cells:
        found.append(f"Scaled down from {REPORT_CELLS:,} cells a stream to {', '.join(cells)}.")
    return [*found, _STARVED]


def delay_note(source: Source) -> str:
    """Which mechanism made the round trips; engines other than the model state theirs."""
    if source.provenance.engine == "cellsim":
        return "Round trips: those of the network, modelled."
    delays = {str(run.get("delay", "not stated")) for run in source.provenance.runs}
    stated = {_DELAYS.get(delay, delay) for delay in delays}
    return f"Round trips: {', '.join(sorted(stated))}."


def held(source: Source, knob: str) -> tuple[dict[str, str], str]:
    """The one level that ``knob`` is held at, the baseline's, and a note where others are left out."""
    levels = source.knobs.get(knob, [])
    if len(levels) < 2:
        return {}, ""
    level = source.baseline()[knob]
    return {knob: level}, f"{knob.replace('_', ' ').capitalize()}: {level_name(level)}."


def at(frame: pl.DataFrame, levels: dict[str, str]) -> pl.DataFrame:
    """The rows of ``frame`` at ``levels``."""
    return frame.filter(*(pl.col(knob).cast(pl.String) == level for knob, level in levels.items()))
