"""Processor time with and without the measures: of all processes of a command, in pairs."""

from __future__ import annotations

import sys

import pytest

from bench import measures_cost

BURN = "import time\nwhile time.process_time() < {}: pass"
NEST = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', {!r}])"


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_processes_of_processes_count():
    assert 0.4 <= measures_cost.processor_s(python(NEST.format(BURN.format(0.4)))) < 2


def test_a_command_that_fails_is_named():
    with pytest.raises(SystemExit, match=r"raise SystemExit\(3\).*failed"):
        measures_cost.processor_s(python("raise SystemExit(3)"))


def test_the_side_that_goes_first_changes(monkeypatch, capsys):
    played = []

    def processor_s(command):
        played.append(command[0])
        return {1: 2.0, 2: 2.04, 3: 2.1, 4: 2.06}[len(played)]

    monkeypatch.setattr(measures_cost, "processor_s", processor_s)
    measures_cost.main(["a", "b", "--pairs", "2"])
    assert played == ["b", "a", "a", "b"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pair 1: 2.04 s / 2.00 s"
    # The ratios are 1.020 and 1.019.
    assert said[1] == "pair 2: 2.10 s / 2.06 s"
    assert said[-1].startswith("+1.97% (+1.")
    assert said[-1].endswith(", 2 pairs")
