"""The runs of a comparison become rows of the table of what networks show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench import what_is_seen
from tests.several_sources import SLOW, leave_run


def test_a_comparison_gives_a_row_for_each_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth slower on two networks; on a third the candidate has not run."""
    monkeypatch.setattr(what_is_seen, "utilisation", lambda run: 0.4)
    paths = {"web1": (("relay1", "relay2", "relay3"),)}
    for seed in (1, 2, 3):
        for level, slower in (("default", 1.0), ("slow", 1.2)):
            run = leave_run(tmp_path, "emulation", SLOW, seed, slower=slower, paths=paths)
            folder = run.parents[1]
            shutil.move(run, run.with_name(f"options={level}"))
    shutil.rmtree(folder / "3" / "options=slow")
    rows = list(what_is_seen.rows_of_comparison("main", "knob=slow", folder))
    assert {(row["engine"], row["network"], row["change"]) for row in rows} == {
        ("emulation", "ci", "knob=slow")
    }
    (mean,) = [
        row["mean"]
        for row in rows
        if (row["kind"], row["metric"], row["statistic"], row["networks"]) == ("web", "ttfb", "paired", 2)
    ]
    assert mean == pytest.approx(0.2, abs=0.02)
