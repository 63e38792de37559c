"""What the figures of streams that share a circuit have in common.

In: a :class:`~plotting.drawing.source.Source` of runs with a table of progress. Out: the levels shown, and
the notes that captions need.
"""

from __future__ import annotations

from plotting.drawing.palette import knob_name, level_name
from plotting.drawing.source import Source
from torsweep.engines.registry import find_engine
from torsweep.stats.streams.fairness import held_level
from torsweep.stats.text import sources_of

REPORT_CELLS = 10_000
"""Cells of a stream in the report; a plan with fewer says so."""


def notes(source: Source) -> list[str]:
    """Where the round trips come from, what was scaled down, and what starving means."""
    engines = [find_engine(one.engine) for one in sources_of(source.provenance)]
    made = dict.fromkeys(
        "emulated" if engine.real_time else "simulated" if engine.runs_tor else "modelled"
        for engine in engines
    )
    found = [f"Round trips: those of the network, {' or '.join(made)}."]
    cells = [level for level in source.knobs.get("cells", []) if int(level) < REPORT_CELLS]
    if cells:
        found.append(f"Scaled down from {REPORT_CELLS:,} cells per stream to {', '.join(cells)}.")
    return [*found, "Starved: less than a quarter of its cells when the first stream is complete."]


def held(source: Source) -> tuple[dict[str, str], str]:
    """The one level at which lines are kept, and a note where others are left out."""
    levels = held_level(source.knobs, source.baseline())
    return levels, "".join(f"{knob_name(knob)}: {level_name(level)}." for knob, level in levels.items())
