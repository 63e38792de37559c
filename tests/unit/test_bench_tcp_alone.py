"""What the table of TCP alone on a link makes of repeats, without measuring."""

from __future__ import annotations

from bench.tcp_alone import CELL, by_cell, row
from bench.writing import csv_text

COLUMNS = (*CELL, "carried_share", "held_bytes", "srtt_ms")


def _rows(*measured: tuple[float, int, float]) -> list[dict[str, str]]:
    cell = dict(zip(CELL, ("down", "52744", "10", "0", "50"), strict=True))
    names = ("carried_share", "held_bytes", "srtt_ms")
    return [{**cell, **dict(zip(names, map(str, one), strict=True))} for one in measured]


def test_a_kernel_that_was_measured_once_agrees_with_itself():
    found = row(_rows((0.95, 100_000, 1400.0)), _rows((0.89, 119_000, 1000.0)))
    assert found["apart"] == "use, round trip"
    assert (found["kernel_repeats"], found["kernel_apart"]) == (1, "none")


def test_the_model_is_held_against_the_median_of_repeats_and_their_spread_is_told():
    kernel = _rows((0.95, 100_000, 1000.0), (0.95, 130_000, 1010.0), (0.95, 110_000, 1020.0))
    found = row(kernel, _rows((0.95, 500_000, 1000.0), (0.95, 131_000, 1000.0), (0.95, 1_000, 1000.0)))
    assert (found["kernel_held_kb"], found["model_held_kb"]) == ("110.0", "131.0")
    assert (found["apart"], found["kernel_apart"]) == ("none", "bytes")
    assert found["kernel_held_span_kb"] == "100.0 to 130.0"


def test_rows_of_the_same_cell_are_its_repeats():
    rows = _rows((0.95, 1, 1.0), (0.96, 2, 2.0))
    other = {**rows[0], "rtt_ms": "150"}
    cells = by_cell(csv_text(COLUMNS, [rows[0], other, rows[1]]))
    assert [len(repeats) for repeats in cells.values()] == [2, 1]
