"""What the figures of cells in traced relays have in common.

In: summaries of cells. Out: parts of them, and the notes that captions need.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from plotting.drawing.source import Source
from plotting.drawing.style import nothing
from torsweep.stats.cells.times import ANY, LEAST_DECADE, SECTION


def section(times: pl.DataFrame, circuits: str, command: str, stage: str) -> pl.DataFrame:
    """The rows of ``times`` for cells of these circuits and this command, whatever else they are."""
    wanted = dict(zip(SECTION, (circuits, ANY, command, ANY), strict=True)) | {"stage": stage}
    return times.filter(*(pl.col(name) == value for name, value in wanted.items()))


def hosts_of(frame: pl.DataFrame) -> list[str]:
    """The traced relays."""
    return frame["host"].unique().sort().to_list()


def load_note(source: Source) -> str:
    """What the relays sent and, where it is known, which share of a core that took."""
    load = source.summary("cell_load")
    parts = []
    for host in hosts_of(load):
        own = load.filter(host=host)
        share = own["cpu_share"].drop_nulls().to_list()
        of_core = f" with at most {max(share):.0%} of a core" if share else ""
        parts.append(f"{host} sent {span(own['sent_mb_per_s'].to_list(), '.1f')} MB/s{of_core}")
    return "; ".join(parts) + "."


def span(values: Sequence[float], form: str) -> str:
    """The least and the greatest of ``values``, or the one number that they share."""
    return " to ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def milliseconds(value: float) -> str:
    """A time in ms with three digits and no exponent: < 0.001, 0.0123, 15.6, 2,140."""
    least = 10.0**LEAST_DECADE
    if value < least:
        return f"< {least:g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def nothing_traced(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without cells to draw."""
    caption = source.caption("No traced relay sent a RELAY cell on in the measured time.")
    return nothing("No cells were traced", points, caption)
