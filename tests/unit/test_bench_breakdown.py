"""The rows of followed downloads for a document (``bench/breakdown_rows.py``)."""

from __future__ import annotations

import polars as pl

from bench.breakdown_rows import rows


def test_groups_are_columns_that_add_up():
    def line(seed: int, group: str, mean_ms: float, byte: str = "first") -> dict[str, object]:
        where = {"seed": seed, "scheduler": "vanilla", "kind": "web", "byte": byte}
        return {**where, "group": group, "mean_ms": mean_ms, "share": 0.5, "downloads": 10 * seed}

    runs = [line(1, "link", 800.0), line(2, "link", 600.0), line(1, "kernel", 100.0), line(2, "kernel", 50.0)]
    (row,) = rows(pl.DataFrame([*runs, line(1, "link", 9000.0, byte="last")])).to_dicts()
    assert row == {
        "variant": "Vanilla",
        "downloads": 30,
        "total_ms": 775.0,
        "link_ms": 700.0,
        "kernel_ms": 75.0,
    }
