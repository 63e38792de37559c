"""Which engine ``auto`` takes, and what is said about those that are not here."""

from __future__ import annotations

import pytest

from torsweep.engines import selection
from torsweep.engines.selection import choose_engine, require_program
from torsweep.errors import InputError, ToolMissing

BOTH = ("cellsim", "shadow")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Nothing is installed but what the test puts on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(selection.sys, "executable", str(tmp_path / "python"))

    def install(name: str) -> None:
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    return install


def test_auto_takes_cellsim_and_says_why(programs):
    choice = choose_engine("auto", BOTH)
    assert (choice.engine, choice.reason) == ("cellsim", "shadow is not installed")


def test_auto_says_when_shadow_is_there_but_not_supported(programs):
    programs("shadow")
    choice = choose_engine("auto", BOTH)
    assert choice.engine == "cellsim"
    assert choice.reason == "shadow is installed, but this version has no engine for it yet"


def test_auto_would_take_shadow_first_where_it_runs(programs, monkeypatch):
    monkeypatch.setitem(selection.PROGRAMS, "shadow", "shadow")
    assert choose_engine("auto", BOTH).engine == "cellsim"
    programs("shadow")
    assert choose_engine("auto", BOTH).engine == "shadow"


@pytest.mark.parametrize(
    ("wanted", "engines", "said"),
    [
        ("shadow", BOTH, "engine: this version has no engine shadow yet; accepted: auto, cellsim"),
        (
            "loopback",
            BOTH,
            "engine: no engine that can run this experiment, got 'loopback'; accepted: auto, cel",
        ),
        ("auto", ("shadow",), "engine: no engine that can run this experiment, got 'auto'"),
        ("cellsim", ("shadow",), "engine: no engine that can run this experiment, got 'cellsim'"),
    ],
)
def test_an_engine_that_cannot_run_the_experiment_is_refused(programs, wanted, engines, said):
    with pytest.raises(InputError) as refusal:
        choose_engine(wanted, engines)
    assert str(refusal.value).startswith(said)


def test_a_missing_program_says_how_to_get_it(programs):
    with pytest.raises(
        ToolMissing, match=r"cellsim: not on PATH, nor beside python; `make setup` builds it"
    ) as lack:
        require_program("cellsim")
    assert lack.value.exit_code == 3
    programs("cellsim")
    assert require_program("cellsim").name == "cellsim"
