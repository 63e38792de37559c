"""What the benchmarks measure, without measuring it."""

from __future__ import annotations

from bench import __main__ as bench


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
