"""``torsweep run``: prepare and status from the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from torsweep.engines import prepare
from torsweep.machine import read_machine


@pytest.fixture
def prepared(torsweep, network, tmp_path):
    """Runs ``torsweep run prepare`` for this engine or another; its exit code, output and error."""

    def run(*options: str, engine: str = "cellsim"):
        words = ("run", "prepare", "refill_sweep", "--network", network, "--engine", engine)
        return torsweep(*words, "--out", tmp_path / "run", *options)

    return run


def test_prepare_writes_a_run_and_says_which(prepared, tmp_path):
    code, said, _ = prepared("--variant", "circuit_policy=round_robin+refill_interval=10ms")
    assert code == 0
    assert "prepared: refill_interval=10ms+circuit_policy=round_robin; era 2012; engine cellsim" in said
    assert json.loads((tmp_path / "run/run.json").read_text())["seed"] == 7


def test_a_run_that_takes_more_memory_than_there_is_is_refused(prepared, tmp_path, monkeypatch):
    small = replace(read_machine(), available_bytes=10**6)
    monkeypatch.setattr(prepare, "read_machine", lambda: small)
    code, _, said = prepared()
    assert (code, said.count("\n")) == (2, 1)
    assert "a run in cellsim takes 0.0 GB of memory, and 0.0 GB are available; accepted: a network" in said
    assert not (tmp_path / "run").exists()


def test_settings_replace_keys_of_the_experiment(prepared, tmp_path):
    sets = ("--set", "warm_up=2 s", "--set", "traffic.web.response=50 KiB", "--era", "today")
    assert prepared(*sets, engine="auto")[0] == 0
    run = json.loads((tmp_path / "run/run.json").read_text())
    assert (run["warm_up_ns"], run["traffic"]["web"]["response_bytes"]) == (2_000_000_000, 51_200)
    assert run["era"] == "today"


def test_a_setting_without_a_value_is_refused_in_one_line(prepared, tmp_path):
    code, _, error = prepared("--set", "warm_up")
    assert (code, error.count("\n")) == (2, 1)
    assert "--set: is no setting, got 'warm_up'; accepted: KEY=VALUE" in error
    assert not (tmp_path / "run/run.json").exists()
