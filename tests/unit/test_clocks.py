"""``torsweep clocks``: every clock of this system, by the program and in words."""

from __future__ import annotations

import json
import time

import pytest

from torsweep.clocks import cost_text, measure_clocks, time_text
from torsweep.errors import TorsweepError


def test_the_clocks_are_those_of_this_system() -> None:
    measured = measure_clocks(2)
    assert (measured["format"], measured["format_version"], measured["rounds"]) == ("torsweep-clocks", 1, 2)
    named = {clock["name"]: clock for clock in measured["clocks"]}
    known = [name for name in dir(time) if name.startswith("CLOCK_") and name in named]
    assert {"CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_BOOTTIME"} <= set(known)
    for name in known:
        assert named[name]["resolution_ns"] == round(time.clock_getres(getattr(time, name)) * 1e9)
    coarse = named["CLOCK_MONOTONIC_COARSE"]
    assert [cost["way"] for cost in coarse["costs"]] == ["library", "system_call"]
    # It moves by its own step, or by several where the machine had other things to do.
    assert coarse["step_ns"] >= 0.9 * coarse["resolution_ns"]


def test_the_table_has_a_row_for_each_clock(torsweep) -> None:
    code, printed, _ = torsweep("clocks", "--rounds", "1")
    assert code == 0
    assert "CLOCK_MONOTONIC_RAW" in printed and "system call, ns" in printed and "1 rounds" in printed


def test_as_json_it_names_the_machine_but_nobody(torsweep) -> None:
    code, printed, _ = torsweep("clocks", "--rounds", "1", "--json")
    assert code == 0
    document = json.loads(printed)
    assert document["machine"]["kernel"] and document["clocks"]
    assert "node" not in document["machine"] and "user" not in document["machine"]


def test_a_program_that_fails_is_told_of_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TorsweepError, match="exit code 2: clocks: accepted: nothing, or a number of rounds"):
        measure_clocks(0)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(TorsweepError, match="clocks: not on PATH"):
        measure_clocks(1)


def test_numbers_are_written_with_their_units() -> None:
    assert [time_text(number) for number in (1, 4_000_000, 1_500, 2e9)] == ["1 ns", "4 ms", "1.5 µs", "2 s"]
    assert time_text(None) == "–"
    assert cost_text({"median_ns": 21.26, "q1_ns": 21.2, "q3_ns": 30.0}) == "21.3 [21.2, 30.0]"
