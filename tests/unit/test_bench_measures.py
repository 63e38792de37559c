"""Measures of several engines side by side (``bench/measure_rows.py``)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bench import measure_rows

ROW = {"measure": "goodput_total", "group": "web", "unit": "MiB/s"}


def test_engines_stand_side_by_side_and_a_missing_measure_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {
        "model": [{**ROW, "model": 1.5}],
        "real": [
            {**ROW, "real": 2.0},
            {**ROW, "measure": "build_time_median", "group": "all", "unit": "s", "real": 0.5},
            {**ROW, "measure": "peak_memory_total", "group": "relay", "unit": "MiB", "real": 9.0},
        ],
    }
    monkeypatch.setattr(
        measure_rows, "of_engine", lambda folder: (folder.name, pl.DataFrame(plans[folder.name]))
    )
    first, second = measure_rows.rows([Path("model"), Path("real")]).to_dicts()
    assert (first["measure"], first["model"], first["real"]) == ("build_time_median", None, 0.5)
    assert (second["model"], second["real"]) == (1.5, 2.0)
    assert second["name"] == "Goodput: of all clients together"
