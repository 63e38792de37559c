"""The rows of comparisons for a document (``bench/change_rows.py``)."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import change_rows
from torsweep.errors import InputError
from torsweep.stats.claims.judging import Answer
from torsweep.stats.inference.intervals import Interval
from torsweep.study.verdict import Line


def _line(measure: str, change: float, low: float, high: float, shows: str) -> Line:
    interval = Interval(change, low, high, 8, 0.975)
    return Line(measure, Answer("", interval, interval, "", shows, {}))


def test_a_row_has_the_change_in_percent_and_what_it_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "fixed" / "results" / "summaries" / "x" / "main"
    summary.mkdir(parents=True)
    (summary / "claims.json").touch()
    nan = float("nan")
    found = [
        _line("web, first byte", -0.123, -0.2, -0.0456, "yes"),
        _line("web, last byte", nan, nan, nan, "unclear"),
    ]
    monkeypatch.setattr(change_rows, "read_claims", lambda folder: SimpleNamespace(experiment="x"))
    monkeypatch.setattr(change_rows, "load_experiment", lambda file: None)
    monkeypatch.setattr(change_rows, "lines", lambda claims, experiment: found)
    out = tmp_path / "changes.csv"
    change_rows.main([str(out), f"cc_alg=0={tmp_path / 'fixed'}"])
    (first,) = csv.DictReader(out.read_text().splitlines())
    numbers = {"networks": "8", "change": "-12.3", "low": "-20.0", "high": "-4.6"}
    assert first == {"comparison": "cc_alg=0", "measure": "web, first byte", **numbers, "verdict": "shown"}


def test_a_folder_without_a_comparison_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 0 summaries"):
        change_rows.main([str(tmp_path / "out.csv"), f"nothing={tmp_path}"])
