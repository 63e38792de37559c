"""Commands of measurements and of experiments' scripts end in one line where what they are given is wrong."""

from __future__ import annotations

import runpy
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "words", "told"),
    [
        ("experiments.backtest.scripts.score", "--public none.csv", "none.csv: no such file"),
        ("experiments.backtest.scripts.score", "--public text.csv", "text.csv: is no table of times"),
        ("experiments.onionperf_2019.scripts.public_tor", "20=none", "none/run.json: no such file"),
        ("experiments.known_changes.scripts.seen", "pape", "network: no such network"),
        ("bench.summary_tables", "medians none out.csv", "none/medians.csv: no such"),
        ("bench.summary_tables", "means none out.csv", "got 'means'; accepted: med"),
        ("bench.path_choice", "out.csv none", "none/run.json: no such file"),
        ("bench.spread", "none --out out.csv", "no two of these runs are alike"),
        ("bench.model_pairs", "promise ci paper --out out.csv", "promise is of one configuration"),
        ("bench.tcp_alone", "today linux none.csv out.csv", "none.csv: No such file"),
        ("bench.published", "refill_2021", "set: no such set, got 'refill_2021'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(module, words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", *words.split()])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert told in last and "defect" not in last
    assert not (tmp_path / "out.csv").exists()
