"""The result of a comparison, for a terminal.

In: the summary of a study. Out: a table of the measures: change, interval, whether it is shown, and which
change so many networks can show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.config.traffic import KIND_NAMES
from torsweep.stats.claims.claim import Claim
from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.claims.judging import NO_DIFFERENCE, YES, Answer
from torsweep.stats.inference.intervals import CONFIDENCE, Interval
from torsweep.stats.inference.power import POWER, size_text
from torsweep.stats.streams.medians import PAIRED
from torsweep.stats.text import percent_text
from torsweep.stats.verdicts import ClaimsFile, read_claims
from torsweep.units import counted

SHOWN_TIMES = {"ttfb": "first byte", "ttlb": "last byte"}
NO_EFFECT = "no effect: the same times in every network"
COLOURS = {"shown": "green", NO_DIFFERENCE: "blue", NO_EFFECT: "blue"}
SAME_DOWNLOAD = "Changes: how much longer the same download takes, the mean over the middle half of downloads"
MEDIAN_DOWNLOAD = "Changes: how much longer the median download takes, from the request"


@dataclass(frozen=True)
class Line:
    """One measure: whose, of what, and what it came to; ``unit`` is a replicate in one word."""

    measure: str
    answer: Answer
    unit: str = field(default="network", kw_only=True)

    @property
    def verdict(self) -> str:
        """``shown``, ``no difference`` or ``not shown``.

        A change that tor does not notice leaves runs under Shadow as they are, to the last byte.
        """
        answer = self.answer
        if answer.shows in (YES, NO_DIFFERENCE):
            return "shown" if answer.shows == YES else NO_DIFFERENCE
        if answer.interval.networks < 2:
            return f"not shown, as one {self.unit} has no interval"
        if answer.interval.mean == 0 and not answer.interval.known:
            return NO_EFFECT
        if not answer.interval.known:
            return f"not shown, as a {self.unit} had too few downloads"
        return "not shown"

    @property
    def can_show(self) -> str:
        """``24 %, 16: 17 %``: the change that these networks, and that twice as many like them, show."""
        sizes = [f"{number}: {size_text(size)}" for number, size in self.answer.can_show.items()]
        return ", ".join([sizes[0].partition(": ")[2], *sizes[1:2]]) if sizes else "–"


def lines(claims_file: ClaimsFile, asked: Sequence[Claim], unit: str = "network") -> Iterator[Line]:
    """A line for each measure of each claim of a change."""
    claims = {claim.id: claim for claim in asked if isinstance(claim, AnyChange)}
    for verdict in claims_file.claims:
        claim = claims[verdict.claim]
        for metric, answer in zip(claim.metrics, verdict.comparisons, strict=False):
            yield Line(f"{KIND_NAMES[claim.kind]}, {SHOWN_TIMES[metric]}", answer, unit=unit)


def print_verdict(
    summary: Path,
    asked: Sequence[Claim],
    about: str,
    console: Console,
    over: str | None = None,
    unit: str = "network",
) -> int:
    """Print the table and return the number of networks in it.

    Above it stands ``about``, which says what it is, and what it is ``over`` where that is no network of a
    configuration. InputError where there is no summary.
    """
    claims_file = read_claims(summary)
    networks = len(claims_file.seeds)
    if over is None:
        many = f"{counted(networks, 'network')} of {claims_file.network}"
        where = f"{many}, {claims_file.engine}, era {claims_file.era}"
    else:
        where = f"{claims_file.engine}, {over}"
    rows = list(lines(claims_file, asked, unit))
    console.print(Text(f"{about}\n{where}"), soft_wrap=True)
    shown = [(row.measure, row.answer.interval, row.verdict, row.can_show) for row in rows]
    console.print(measures_table(shown))
    same = any(PAIRED in claim.statistics for claim in asked if isinstance(claim, AnyChange))
    changes = SAME_DOWNLOAD if same else MEDIAN_DOWNLOAD
    console.print(Text(f"{changes}\n{_coverage_text(claims_file, len(rows), unit)}"), soft_wrap=True)
    return networks


def _coverage_text(claims_file: ClaimsFile, many: int, unit: str) -> str:
    """What the intervals cover, and what they allow for."""
    looks = ", ".join(map(str, claims_file.interim))
    text = f"Intervals: all {many} together with {100 * CONFIDENCE:.0f} %"
    return f"{text}, over looks at {looks} {unit}s and later ones" if looks else text


def measures_table(rows: Sequence[tuple[str, Interval, str, str]]) -> Table:
    """A row for each measure: its change, the interval, what that comes to, and what can be shown."""
    table = Table(box=None, pad_edge=False)
    table.add_column("measure")
    table.add_column("change", justify="right")
    confidence = f" ({100 * rows[0][1].confidence:.1f} %)" if rows else ""
    table.add_column(f"interval{confidence}", justify="right")
    table.add_column("verdict")
    if any(can_show for *_, can_show in rows):
        table.add_column(f"can show ({100 * POWER:.0f} % chance)")
    for measure, interval, verdict, can_show in rows:
        coloured = Text(verdict, style=COLOURS.get(verdict, "yellow"))
        cells: list[str | Text] = [measure, change_text(interval), bounds_text(interval), coloured, can_show]
        table.add_row(*cells[: len(table.columns)])
    return table


def change_text(interval: Interval) -> str:
    """The change; a dash where a side has no number."""
    return "–" if interval.mean != interval.mean else percent_text(interval.mean)


def bounds_text(interval: Interval) -> str:
    """Both bounds; a dash where there are none."""
    return f"{percent_text(interval.low)} to {percent_text(interval.high)}" if interval.known else "–"
