"""The rows of traced cells for a document (``bench/cell_rows.py``)."""

from __future__ import annotations

import polars as pl

from bench.cell_rows import NUMBERS, rows


def test_a_relay_has_one_row_with_its_circuits_and_stages():
    def line(circuits: str, stage: str, median_ms: float, command: str = "any") -> dict[str, object]:
        where = {"scheduler": "kist_10ms", "host": "relay1", "circuits": circuits, "direction": "any"}
        rest = {"command": command, "queue": "any", "stage": stage, "cell_count": 7.0}
        return {**where, **rest, **dict.fromkeys(NUMBERS, 1.0), "median_ms": median_ms}

    times = pl.DataFrame(
        [
            line("all", "total", 8.0),
            line("all", "relaying", 0.5),
            line("all", "waiting", 7.0),
            line("all", "writing", 0.25),
            line("quiet", "total", 5.0),
            line("quiet", "total", 4.0, command="relay"),
            line("busy", "total", 9.0),
        ]
    )
    (row,) = rows(times).to_dicts()
    assert (row["scheduler"], row["host"], row["median_ms"]) == ("KIST 10 ms", "guard", 8.0)
    assert (row["quiet_ms"], row["busy_ms"], row["busiest_ms"]) == (5.0, 9.0, None)
    assert (row["relaying_ms"], row["waiting_ms"], row["writing_ms"]) == (0.5, 7.0, 0.25)
