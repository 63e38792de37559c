"""Real tor is held against the range of the model's draws, both edges included."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import draws


def test_what_lies_within_the_draws_is_counted_for_every_run_and_quantile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = {
        "one": {"first_median": 2.0, "last_median": 9.0},
        "two": {"first_median": 3.01, "last_median": 5.0},
    }
    model = [{"first_median": 2.0, "last_median": 4.0}, {"first_median": 3.0, "last_median": 6.0}]
    monkeypatch.setattr(draws, "quantiles", lambda run: real[run.name])
    monkeypatch.setattr(draws, "drawn", lambda original: model)
    row = draws.row(Path("model"), [Path("one"), Path("two")])
    assert row["first_median_real"] == "2.0, 3.0"
    assert row["first_median_model"] == "2.0 to 3.0"
    assert row["within"] == "2 of 4"
