"""The result of a comparison, for a terminal.

In: the summary of a study. Out: a sentence for each kind of client, and a table of the measures behind it:
change, interval, verdict, and which change so many networks can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.config.traffic import KIND_NAMES
from torsweep.stats.claims.claim import Claim
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE
from torsweep.stats.comparison import MEASURES_HEADER, SHOWN, Comparison, Row, comparison
from torsweep.stats.inference.power import POWER, size_text
from torsweep.stats.measures.summary import MEASURE_DIFFERENCES
from torsweep.stats.text import percent_text
from torsweep.stats.verdicts import read_claims
from torsweep.units import counted

COSTS = {"processor_time_total": "processor time", "peak_memory_total": "peak memory"}
"""Measures of what processes of a role cost together, and what they are called."""

WIDE = 110
"""Letters of a line that has room for all of a row."""

CAN_SHOW = f"can show ({100 * POWER:.0f} %)"

COLOURS = {SHOWN: "green", NO_DIFFERENCE: "blue", INCONCLUSIVE: "yellow"}


def print_verdict(
    summary: Path,
    asked: Sequence[Claim],
    about: str,
    console: Console,
    over: str | None = None,
    unit: str = "network",
) -> Comparison:
    """Print what the comparison says, and return it.

    Above it stands ``about``, which says what it is, and what it is ``over`` where that is no network of a
    configuration. InputError where there is no summary.
    """
    claims_file = read_claims(summary)
    said = comparison(claims_file, asked, unit)
    if over is None:
        many = f"{counted(len(said.networks), 'network')} of {claims_file.network}"
        where = f"{many}, {claims_file.engine}, era {claims_file.era}"
    else:
        where = f"{claims_file.engine}, {over}"
    lines = [about, where, *(kind.sentence for kind in said.kinds)]
    console.print(Text("\n".join(lines)), soft_wrap=True)
    console.print(measures_table(said.numbers, narrow=console.width < WIDE))
    console.print(Text("\n".join([*said.notes, *costs_of(summary)])), soft_wrap=True)
    return said


def costs_of(summary: Path) -> list[str]:
    """The lines of :func:`cost_lines`; none where the ``summary`` has no differences of measures."""
    if not (summary / MEASURE_DIFFERENCES.file).is_file():
        return []
    return list(cost_lines(MEASURE_DIFFERENCES.read(summary)))


def cost_lines(differences: pl.DataFrame) -> Iterator[str]:
    """What processes of each role cost more: ``Relays: processor time +2.5 % [−1.0, +6.0], memory …``.

    ``differences`` has the columns of :data:`MEASURE_DIFFERENCES`. A role whose processes were not measured
    has no line.
    """
    for role in ("relay", "client"):
        of_role = differences.filter(group=role).drop_nulls("change")
        parts = [
            f"{name} {percent_text(row['change'])} [{percent_text(row['change_low'])}, "
            f"{percent_text(row['change_high'])}]".replace(" %,", ",").replace(" %]", "]")
            for measure, name in COSTS.items()
            for row in of_role.filter(measure=measure).iter_rows(named=True)
            if row["change_low"] is not None
        ]
        if parts:
            yield f"{role.capitalize()}s: {', '.join(parts)}"


def can_show_text(row: Row) -> str:
    """``24 %, 16: 17 %``: the change that these networks, and that twice as many like them, show; where these
    show none below 100 %, those of more networks alone: ``8: 24 %, 16: 17 %``."""
    sizes = [
        size_text(size) if number == row.interval.networks else f"{number}: {size_text(size)}"
        for number, size in row.can_show.items()
        if size < 1
    ]
    return ", ".join(sizes[:2]) or "–"


def measures_table(rows: Iterable[Row], narrow: bool = False) -> Table:
    """A row for each measure: its change, the interval, the verdict, and what can be shown.

    Where it has to be ``narrow``, kinds of client stand above their measures, and milliseconds, the unit of
    intervals and what more networks can show are left out.
    """
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in MEASURES_HEADER:
        in_the_middle = name in ("change", "interval")
        whole = name in ("measure", "interval")
        table.add_column(name, justify="right" if in_the_middle else "left", no_wrap=whole)
    table.add_column("can show" if narrow else CAN_SHOW)
    for kind, of_kind in groupby(rows, key=lambda row: row.kind):
        if narrow:
            table.add_row(Text(KIND_NAMES[kind], style="bold"))
        for row in of_kind:
            measure, change, bounds, verdict = row.cells
            able = can_show_text(row)
            if narrow:
                measure, change = row.label, change.partition(" (")[0]
                bounds, able = bounds.partition("] ")[0], able.partition(",")[0]
                bounds += "]" if bounds.startswith("[") else ""
            coloured = Text(verdict, style=COLOURS.get(verdict, COLOURS[INCONCLUSIVE]))
            table.add_row(measure, change, bounds, coloured, able)
    return table
