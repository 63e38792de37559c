"""The result of a comparison, for a terminal.

In: the summary of a study. Out: a table of the measures: change, interval, and whether it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.config.experiment import Experiment
from torsweep.config.traffic import KIND_NAMES
from torsweep.stats.claims.claim import claims_of
from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.claims.judging import NOTHING, YES, Answer
from torsweep.stats.inference.intervals import MOST, Interval
from torsweep.stats.verdicts import ClaimsFile, read_claims

MEASURES = {"ttfb": "first byte", "ttlb": "last byte"}
NO_EFFECT = "no effect: the same times in every network"
COLOURS = {"shown": "green", "no difference": "blue", NO_EFFECT: "blue"}
MINUS = "−"


@dataclass(frozen=True)
class Line:
    """One measure: whose, of what, and what it came to; ``unit`` is a replicate in one word."""

    measure: str
    answer: Answer
    unit: str = field(default="network", kw_only=True)

    @property
    def verdict(self) -> str:
        """``shown``, ``no difference``, or how many replicates more would decide.

        A change that tor does not notice leaves runs under Shadow as they are, to the last byte.
        """
        answer = self.answer
        if answer.shows == YES:
            return "shown"
        if answer.shows == NOTHING:
            return "no difference"
        networks = answer.interval.networks
        if networks < 2:
            return f"not shown, as one {self.unit} has no interval"
        if answer.interval.mean == 0 and not answer.interval.known:
            return NO_EFFECT
        if not answer.interval.known:
            return f"not shown, as a {self.unit} had too few downloads"
        if answer.decided_by is None:
            return f"not shown, more than {MOST:,} {self.unit}s would decide"
        more = answer.decided_by - networks
        return f"not shown, {more:,} more {self.unit}{'s' if more > 1 else ''} would decide"


def lines(found: ClaimsFile, experiment: Experiment, unit: str = "network") -> Iterator[Line]:
    """A line for each measure of each claim of a change."""
    claims = {claim.id: claim for claim in claims_of(experiment) if isinstance(claim, AnyChange)}
    for verdict in found.claims:
        claim = claims[verdict.claim]
        for metric, answer in zip(claim.metrics, verdict.comparisons, strict=False):
            yield Line(f"{KIND_NAMES[claim.kind]}, {MEASURES[metric]}", answer, unit=unit)


def print_verdict(
    summary: Path,
    experiment: Experiment,
    about: str,
    console: Console,
    over: str | None = None,
    unit: str = "network",
) -> None:
    """Print the table, under lines that say ``about`` what it is, and what it is ``over`` where that is no
    network of a configuration; InputError where there is no summary."""
    found = read_claims(summary)
    networks = len(found.seeds)
    many = f"{networks} network{'s' if networks > 1 else ''} of {found.network}"
    where = f"{many}, {found.engine}, era {found.era}" if over is None else f"{found.engine}, {over}"
    console.print(Text(f"{about}\n{where}"), soft_wrap=True)
    console.print(measures_table(list(lines(found, experiment, unit))))


def measures_table(shown: Sequence[Line]) -> Table:
    """A row for each measure: its change, the interval, and what that comes to."""
    table = Table(box=None, pad_edge=False)
    confidence = f"{100 * shown[0].answer.interval.confidence:.1f} %" if shown else ""
    for header in ("measure", "change", f"interval ({confidence})", "verdict"):
        table.add_column(header, justify="left" if header in ("measure", "verdict") else "right")
    for line in shown:
        interval = line.answer.interval
        style = COLOURS.get(line.verdict, "yellow")
        table.add_row(
            line.measure, change_text(interval), bounds_text(interval), Text(line.verdict, style=style)
        )
    return table


def change_text(interval: Interval) -> str:
    """The change; a dash where a side has no number."""
    return "–" if interval.mean != interval.mean else percent(interval.mean)


def bounds_text(interval: Interval) -> str:
    """Both bounds; a dash where there are none."""
    return f"{percent(interval.low)} to {percent(interval.high)}" if interval.known else "–"


def percent(share: float) -> str:
    """``+3.1 %``: a relative difference as a reader expects it; ``×99`` where it is more than tenfold."""
    if share > 9:
        return f"×{1 + share:,.0f}"
    rounded = round(100 * share, 1)
    sign = MINUS if rounded < 0 else "+" if rounded > 0 else ""
    return f"{sign}{abs(rounded):.1f} %"
