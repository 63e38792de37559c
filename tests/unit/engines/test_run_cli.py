"""``torsweep run``: prepare and status from the command line."""

from __future__ import annotations

import json
from dataclasses import replace

from torsweep.engines import prepare
from torsweep.machine import read_machine


def test_prepare_writes_a_run_and_says_which(torsweep, network, tmp_path):
    out = tmp_path / "run"
    arguments = ("run", "prepare", "refill_sweep", "--network", network, "--engine", "cellsim", "--out", out)
    code, said, _ = torsweep(*arguments, "--variant", "circuit_policy=round_robin+refill_interval=10ms")
    assert code == 0
    assert "prepared: refill_interval=10ms+circuit_policy=round_robin; era 2012; engine cellsim" in said
    assert json.loads((out / "run.json").read_text())["seed"] == 7


def test_a_run_that_takes_more_memory_than_there_is_is_refused(torsweep, network, tmp_path, monkeypatch):
    small = replace(read_machine(), available_bytes=10**6)
    monkeypatch.setattr(prepare, "read_machine", lambda: small)
    out = tmp_path / "run"
    arguments = ("run", "prepare", "refill_sweep", "--network", network, "--engine", "cellsim", "--out", out)
    code, _, said = torsweep(*arguments)
    assert code == 2
    assert "a run in cellsim takes 0.0 GB of memory, and 0.0 GB are available; accepted: a network" in said
    assert len(said.splitlines()) == 1
    assert not out.exists()


def test_settings_replace_keys_of_the_experiment(torsweep, network, tmp_path):
    out = tmp_path / "run"
    sets = ("--set", "warm_up=2 s", "--set", "traffic.web.response=50 KiB", "--era", "today")
    assert torsweep("run", "prepare", "refill_sweep", "--network", network, "--out", out, *sets)[0] == 0
    run = json.loads((out / "run.json").read_text())
    assert (run["warm_up_ns"], run["traffic"]["web"]["response_bytes"]) == (2_000_000_000, 51_200)
    assert run["era"] == "today"


def test_a_setting_without_a_value_is_refused_in_one_line(torsweep, network, tmp_path):
    out = tmp_path / "run"
    words = ("run", "prepare", "refill_sweep", "--network", network, "--out", out, "--set", "warm_up")
    code, _, error = torsweep(*words)
    assert (code, error.count("\n")) == (2, 1)
    assert "--set: is no setting, got 'warm_up'; accepted: KEY=VALUE" in error
    assert not (out / "run.json").exists()
