"""What the figures of streams that share a circuit have in common.

In: a :class:`~plotting.drawing.source.Source` of runs with a table of progress. Out: its levels in their
columns and rows, and the notes that their captions need.
"""

from __future__ import annotations

from plotting.drawing.palette import level_name
from plotting.drawing.source import Source
from torsweep.stats.streams.fairness import held_level

REPORT_CELLS = 10_000
"""Cells of a stream in the report; a plan with fewer says so."""

_ROUND_TRIPS = {
    "cellsim": "modelled",
    "emulation": "by an emulator of links",
    "shadow": "simulated",
    "shadow-no-rtt": "simulated",
}
"""How each engine makes the round trips of the network."""

_STARVED = "Starved: less than a quarter of its cells when the first stream is complete."


def notes(source: Source) -> list[str]:
    """Where the round trips come from, what was scaled down, and what starving means."""
    found = [delay_note(source)]
    cells = [level for level in source.knobs.get("cells", []) if int(level) < REPORT_CELLS]
    if cells:
        found.append(f"Scaled down from {REPORT_CELLS:,} cells a stream to {', '.join(cells)}.")
    return [*found, _STARVED]


def delay_note(source: Source) -> str:
    """A note on how the engine makes round trips."""
    return f"Round trips: those of the network, {_ROUND_TRIPS[source.provenance.engine]}."


def held(source: Source) -> tuple[dict[str, str], str]:
    """The one level at which lines are kept, and a note where others are left out."""
    levels = held_level(source.knobs, source.baseline())
    named = [f"{knob.replace('_', ' ').capitalize()}: {level_name(level)}." for knob, level in levels.items()]
    return levels, "".join(named)
