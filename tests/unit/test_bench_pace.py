"""The table of how runs kept up has a row a run, of runs that were refused too."""

from __future__ import annotations

import json

from bench import pace
from bench.pace import COLUMNS, row
from bench.writing import csv_text


def test_runs_that_were_taken_and_runs_that_were_refused_stand_in_one_table(tmp_path, monkeypatch):
    class Run:
        network = "../../networks/quarter/1"

    monkeypatch.setattr(pace, "read_run", lambda _: Run)
    account = {"linkem": {"ran": 0.4, "delay_ms": 0.123}, "relay1": {"ran": 0.1, "delay_ms": 1.456}}
    taken, refused = tmp_path / "taken", tmp_path / "refused"
    (refused / "processes").mkdir(parents=True)
    (refused / "processes/pace.json").write_text(json.dumps({"pace": account, "late_share": 0.031}))
    taken.mkdir()
    quick = {name: {**seen, "delay_ms": seen["delay_ms"] / 10} for name, seen in account.items()}
    (taken / "provenance.json").write_text(json.dumps({"pace": quick, "late_share": 0.0034}))
    rows = [row("nothing", taken), row("two busy loops", refused)]
    assert csv_text(COLUMNS, rows).splitlines() == [
        "network,beside,run,slowest,delay_ms,late_percent",
        "`quarter`,nothing,taken,relay1,0.15,0.34",
        "`quarter`,two busy loops,refused,relay1,1.46,3.10",
    ]
