"""What the benchmarks measure, without measuring it."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from bench import __main__ as bench
from bench.writing import add_rounds


def test_full_size_is_sampled_in_each_round_and_tenfold_once(tmp_path, monkeypatch):
    sampled = iter(range(1, 100))
    monkeypatch.setattr(bench, "sample", lambda folder, size: float(next(sampled)))
    monkeypatch.setattr(bench, "prepared", lambda folder, *_: folder)
    monkeypatch.setattr(bench, "run", lambda folder: dict.fromkeys((*bench.FIGURES, "cpu_s"), 2.0))
    results = bench.medians(bench.measure(tmp_path, 3))
    # Samples 1 and 2 are for the runs, of which the second is the tenfold one; 3 to 5 are the rounds.
    assert results["tenfold"]["sampling (once)"] == {"wall_s": 2.0}
    assert results["full"]["sampling"] == {"wall_s": 4.0}
    page = bench.table(results, 3)
    assert "| full | sampling | – | – | – | 4.0 |" in page
    assert "| tenfold | sampling (once) | – | – | – | 2.0 |" in page


@pytest.mark.parametrize("rounds", ["2", "0", "-3", "many"])
def test_a_median_is_of_three_rounds_at_least(rounds, capsys):
    parser = ArgumentParser()
    add_rounds(parser)
    assert parser.parse_args([]).rounds == 3
    assert parser.parse_args(["--rounds", "5"]).rounds == 5
    with pytest.raises(SystemExit):
        parser.parse_args([f"--rounds={rounds}"])
    assert f"{rounds}: accepted: 3 or more" in capsys.readouterr().err
