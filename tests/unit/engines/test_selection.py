"""Which engine ``auto`` takes, and what is said about those that are not here."""

from __future__ import annotations

import pytest

from torsweep.engines import selection, tools
from torsweep.engines.selection import choose_engine, require_engine, version_of
from torsweep.errors import InputError, ToolMissing

BOTH = ("cellsim", "shadow")
ANSWERS = {"shadow": "Shadow 3.3.0", "tgen": "TGen v1.1.2", "oniontrace": "OnionTrace v1.0.0"}


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Nothing is installed but what the test puts on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(selection.sys, "executable", str(tmp_path / "python"))
    for name in ANSWERS:
        monkeypatch.delenv(tools.TOOL_KINDS[name].variable, raising=False)
    version_of.cache_clear()

    def install(*names: str, **answers: str) -> None:
        for name in names:
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\necho {answers.get(name) or ANSWERS.get(name, '')}\n")
            program.chmod(0o755)

    return install


def test_auto_takes_cellsim_and_says_why(programs):
    choice = choose_engine("auto", BOTH)
    assert choice.engine == "cellsim"
    assert choice.reason.startswith("shadow: not on PATH")


def test_auto_takes_shadow_where_all_its_tools_are(programs):
    programs("shadow", "tgen")
    assert choose_engine("auto", BOTH).reason.startswith("oniontrace: not on PATH")
    programs("oniontrace")
    assert choose_engine("auto", BOTH).engine == "shadow"


def test_auto_passes_over_a_shadow_that_is_too_old(programs):
    programs(*ANSWERS, shadow="Shadow 2.5.0")
    choice = choose_engine("auto", BOTH)
    assert choice.engine == "cellsim"
    assert "2.5.0 < 3.3" in choice.reason


def test_auto_never_takes_real_time_unasked(programs):
    assert choose_engine("auto", ("loopback", "cellsim")).engine == "cellsim"
    with pytest.raises(InputError, match="accepted: auto, loopback"):
        choose_engine("auto", ("loopback",))


@pytest.mark.parametrize(("wanted", "engines"), [("loopback", BOTH), ("cellsim", ("shadow",)), ("ns3", BOTH)])
def test_an_engine_that_cannot_run_the_experiment_is_refused(programs, wanted, engines):
    with pytest.raises(InputError) as refusal:
        choose_engine(wanted, engines)
    assert str(refusal.value).startswith(f"engine: no engine that can run this experiment, got '{wanted}'")


def test_an_engine_that_was_asked_for_is_taken_though_it_lacks_a_tool(programs):
    assert choose_engine("shadow", BOTH).engine == "shadow"
    with pytest.raises(ToolMissing, match="shadow: not on PATH") as lack:
        require_engine("shadow")
    assert lack.value.exit_code == 3


def test_a_missing_cellsim_says_how_to_get_it(programs):
    with pytest.raises(ToolMissing, match=r"not on PATH, nor beside python; `make setup` builds it"):
        require_engine("cellsim")
    programs("cellsim")
    require_engine("cellsim")
    assert selection.find_cellsim().name == "cellsim"


def test_a_new_version_of_any_part_is_a_new_version_of_the_engine(programs):
    programs(*ANSWERS)
    before = version_of("shadow")
    assert "Shadow 3.3.0" in before and "TGen v1.1.2" in before and "tor series" in before
    programs("tgen", tgen="TGen v1.1.3")
    version_of.cache_clear()
    tools._answer.cache_clear()
    assert version_of("shadow") != before
