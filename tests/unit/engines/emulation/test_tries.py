"""A run that falls behind real time or does not start is made again, twice at most, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.engines.emulation import rights
from torsweep.engines.emulation import run as module
from torsweep.engines.emulation.pace import FellBehind
from torsweep.engines.emulation.processes import NotReady, ProcessEnded


def engine(monkeypatch: pytest.MonkeyPatch, *outcomes: Exception | None) -> list[int]:
    """An engine whose runs end like this, one after the other; the tries that it was told of."""
    told: list[int] = []

    def run(directory: Path, tools: object, *, tries: int, **_: object) -> None:
        outcome = outcomes[len(told)]
        told.append(tries)
        if outcome is not None:
            raise outcome

    monkeypatch.setattr(module, "run_emulation", run)
    return told


def late(number: int) -> FellBehind:
    return FellBehind(f"the run fell behind real time: relay{number}")


TOOLS = SimpleNamespace()


def test_each_try_is_announced_in_one_line(monkeypatch, capsys):
    told = engine(monkeypatch, late(1), NotReady("no descriptor came from relay2"), None)
    module.run_in_tries(Path("run"), TOOLS)
    assert told == [1, 2, 3]
    assert capsys.readouterr().err.splitlines() == [
        "emulation: try 1 of 3: the run fell behind real time: relay1; trying again",
        "emulation: try 2 of 3: no descriptor came from relay2; trying again",
    ]


def test_another_failure_ends_it_at_once(monkeypatch):
    told = engine(monkeypatch, late(1), ProcessEnded("relay2 ended"))
    with pytest.raises(ProcessEnded, match="relay2 ended"):
        module.run_in_tries(Path("run"), TOOLS)
    assert told == [1, 2]


def test_the_command_fails_with_the_last_refusal(torsweep, run_directory, monkeypatch):
    told = engine(monkeypatch, late(1), late(2), late(3))
    monkeypatch.setattr(rights, "find_tools", lambda *_: TOOLS)
    monkeypatch.setattr(rights, "become_able", lambda: None)
    code, _, err = torsweep("emulation", "run", run_directory())
    assert (code, told) == (1, [1, 2, 3])
    assert err.splitlines()[1:] == [
        "emulation: try 2 of 3: the run fell behind real time: relay2; trying again",
        "torsweep: the run fell behind real time: relay3; tried 3 times",
    ]
