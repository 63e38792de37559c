"""``torsweep doctor``: tables for people, exit codes for scripts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_ins import tells_round_trip
from torsweep.engines import selection
from torsweep.engines.tools import TOOL_KINDS
from torsweep.errors import ToolMissing
from torsweep.machine import read_machine

REPOSITORY = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("no_tools")


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(selection, "check_requirements", lambda: None)


def test_a_fresh_machine_runs_cellsim_and_is_told_what_shadow_needs(torsweep):
    code, text, _ = torsweep("doctor")
    assert code == 0
    can_run = dict(re.findall(r"^(shadow|cellsim|emulation) +(yes|no)\b", text, re.MULTILINE))
    assert can_run == {"shadow": "no", "cellsim": "yes", "emulation": "yes"}
    missing = re.findall(r"^(\S+) +missing\b", text, re.MULTILINE)
    assert set(missing) == set(TOOL_KINDS)
    assert "https://github.com/shadow/tgen" in text and "≥ 1.1.2" in text
    assert "/dev/shm" in text and "open files" in text
    assert torsweep("doctor", "--engine", "shadow")[0] == 3
    code, _, error = torsweep("doctor", "--engine", "shadw")
    assert (code, error.count("\n")) == (2, 1)


def test_asking_for_an_engine_that_can_run_ends_with_0(torsweep, install):
    install("shadow", "Shadow 3.3.0 — v3.3.0", after=tells_round_trip(0))
    install("tgen", "TGen v1.1.2", code=1)
    install("oniontrace", "OnionTrace v1.0.0", code=1)
    code, text, _ = torsweep("doctor", "--engine", "shadow")
    assert code == 0
    versions = dict(re.findall(r"^(shadow|tgen|oniontrace|tor) +(\d\S+|missing)", text, re.MULTILINE))
    assert versions == {"shadow": "3.3.0", "tgen": "1.1.2", "oniontrace": "1.0.0", "tor": "missing"}
    assert "round trips not measured" in text


def test_of_networks_that_do_not_fit_the_smallest_is_named(torsweep, monkeypatch):
    small = replace(read_machine(), available_bytes=10**8)
    monkeypatch.setattr("torsweep.doctor.read_machine", lambda: small)
    _, text, _ = torsweep("doctor", "--engine", "cellsim")
    lines = [line for line in text.splitlines() if line.startswith("- cellsim, network")]
    assert len(lines) == 1
    assert "GiB of memory needed, 0.1 GiB of memory here" in lines[0]


def test_each_missing_thing_is_said_once(torsweep, monkeypatch):
    def lacking() -> None:
        raise ToolMissing("building tor needs libevent with its headers: apt-get install libevent-dev")

    monkeypatch.setattr(selection, "check_requirements", lacking)
    code, text, _ = torsweep("doctor")
    assert code == 0
    below = text[text.index("engine=auto takes") :]
    for thing in ("TORSWEEP_SHADOW", "TORSWEEP_TGEN", "libevent-dev", "tor build", "tor-gencert"):
        assert below.count(thing) == 1, below
