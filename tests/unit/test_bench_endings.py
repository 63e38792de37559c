"""Commands of measurements and of experiments' scripts end in one line where what they are given is wrong."""

from __future__ import annotations

import runpy
import sys

import pytest

SCORE = "experiments.backtest.scripts.score"
PUBLIC_TOR = "experiments.onionperf_2019.scripts.public_tor"


@pytest.mark.parametrize(
    ("module", "words", "told"),
    [
        (
            SCORE,
            ["--results", "none"],
            "score: none: has none of the runs that are predicted; accepted: a fol",
        ),
        (SCORE, ["--public", "none.csv"], "score: none.csv: no such file"),
        (SCORE, ["--public", "text.csv"], "score: text.csv: is no table of times; accepted: torperf.csv or"),
        (PUBLIC_TOR, ["20 relays"], "20 relays: accepted: NAME=RUN,RUN…"),
        (PUBLIC_TOR, ["20 relays=none"], "public_tor: none/run.json: no such file"),
        ("bench.summary_tables", ["medians", "none", "out.csv"], "summary_tables: none/medians.csv: no such"),
        (
            "bench.summary_tables",
            ["means", "none", "out.csv"],
            "what: is no table, got 'means'; accepted: med",
        ),
        ("bench.path_choice", ["out.csv", "none"], "path_choice: none/run.json: no such file"),
        (
            "bench.spread",
            ["none", "--out", "out.csv"],
            "spread: no two of these runs are alike but for chance",
        ),
        (
            "bench.model_pairs",
            ["promise", "ci", "paper", "--out", "out.csv"],
            "promise is of one configuration",
        ),
        ("bench.tcp_alone", ["today", "linux", "none.csv", "out.csv"], "tcp_alone: none.csv: No such file"),
        (
            "bench.published",
            ["refill_2021"],
            "published: set: no such set, got 'refill_2021'; accepted: refill",
        ),
        ("experiments.known_changes.scripts.seen", ["pape"], "seen: network: no such network (did you mean"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(module, words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", *words])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert told in last and "defect" not in last
    assert not (tmp_path / "out.csv").exists()
