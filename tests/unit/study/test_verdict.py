"""The last lines of a comparison: what is said, and each measure with its change, interval and verdict."""

from __future__ import annotations

import io
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from tests.analyses import TIMES, change_verdict, claims_file_of
from tests.model_comparison import experiment
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.change import EVERYONE, SHARE_MEASURES
from torsweep.stats.comparison import comparison
from torsweep.stats.comparison_rows import Row
from torsweep.stats.text import milliseconds_text, percent_text, points_text
from torsweep.study.answer import can_show_text, cost_lines, measures_table


def row(low: float, high: float, measure: str = "paired_ttfb") -> Row:
    kind = EVERYONE if measure in SHARE_MEASURES else "web"
    said = comparison(claims_file_of(change_verdict(kind, **{measure: (low, high)})), claims_of(experiment()))
    return next(each for each in said.rows if each.measure == measure)


def test_a_row_says_change_milliseconds_interval_and_verdict() -> None:
    times = row(0.01, 0.03)
    said = ("web, first byte, same download", "+2.0 % (+100 ms)", "[+1.0, +3.0] %", "shown")
    assert times.cells == said
    shares = replace(row(-0.2, 0.1, "failed"), change_s=float("nan"))
    said = ("all, failed downloads", "−5.0 points", "[−20.0, +10.0] points", "inconclusive")
    assert shares.cells == said


def test_a_row_says_what_so_many_networks_can_show() -> None:
    able = replace(row(-0.1, 0.1), can_show={8: 0.24, 16: 0.17, 32: 0.052})
    assert can_show_text(able) == "24 %, 16: 17 %"
    too_few = replace(row(-0.1, 0.1), can_show={16: 1.7, 32: 0.052})
    assert can_show_text(too_few) == "32: 5.2 %", "fewer promise nothing below 100 %"


def test_no_line_of_the_table_wraps() -> None:
    rows = [row(-0.2, 0.1, measure) for measure in TIMES]
    late_s = {True: float("nan"), False: -1.234}
    able = [replace(each, change_s=late_s[each.is_share], can_show={8: 0.124, 16: 0.117}) for each in rows]
    console = Console(width=110, file=io.StringIO())
    console.print(measures_table(able))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 1 + len(rows)
    assert all("12 %" in line for line in lines[1:])
    assert all(("−5.0 %" in line or "−5.0 points" in line) for line in lines[1:])


@pytest.mark.parametrize(
    ("text_of", "amount", "text"),
    [
        (points_text, 0.0004, "0.0 points"),
        (points_text, -0.0312, "−3.1 points"),
        (points_text, 0.2, "+20.0 points"),
        (milliseconds_text, 0.64, "+640 ms"),
        (milliseconds_text, -1.2345, "−1,234 ms"),
        (milliseconds_text, 5e3, "over 1,000,000 ms"),
        (percent_text, 0.0312, "+3.1 %"),
        (percent_text, -0.0312, "−3.1 %"),
        (percent_text, 0.0004, "0.0 %"),
        (percent_text, -0.0004, "0.0 %"),
        (percent_text, 3.021, "+302.1 %"),
        (percent_text, 10.5, "over 1,000 %"),
    ],
)
def test_numbers_are_rounded_for_readers(text_of, amount: float, text: str) -> None:
    assert text_of(amount) == text


def test_what_processes_cost_is_said_by_role() -> None:
    change = {"change": 0.025, "change_low": -0.01, "change_high": 0.06}
    rows = [
        {"measure": measure, "group": group, **change}
        for measure in ("processor_time_total", "peak_memory_total", "relay_traffic")
        for group in ("relay", "server")
    ]
    lines = list(cost_lines(pl.DataFrame(rows)))
    assert lines == ["Relays: processor time +2.5 % [−1.0, +6.0], peak memory +2.5 % [−1.0, +6.0]"]
