"""Which engine ``auto`` takes, and what is said about those that are not here."""

from __future__ import annotations

import pytest

from tests.stand_ins import ANSWERS, tells_round_trip
from torsweep.engines import selection, tools
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import Choice, choose_engine, problems, require_engine, version_of
from torsweep.engines.shadow import entry as shadow
from torsweep.engines.shadow.tools import round_trips
from torsweep.engines.tools import find_own_program
from torsweep.errors import InputError, ToolMissing, TorsweepError

BOTH = ("shadow", "cellsim")


@pytest.fixture
def programs(install, tmp_path, monkeypatch):
    """Nothing is installed but what the test puts on PATH, and tor can be built."""
    monkeypatch.setattr(selection, "check_requirements", lambda: None)
    monkeypatch.setattr(tools.sys, "executable", str(tmp_path / "bin" / "python"))

    def put(*names: str, tcpi_rtt: object = 100, **answers: str) -> None:
        for answer in (round_trips, version_of, tools.told_version):
            answer.cache_clear()
        for name in names:
            install(name, answers.get(name, ANSWERS.get(name, "")), after=tells_round_trip(tcpi_rtt))

    return put


def test_auto_takes_cellsim_and_says_why_and_shadow_where_all_its_tools_are(programs):
    programs("cellsim")
    choice = choose_engine("auto", BOTH)
    assert choice.engine == "cellsim"
    assert choice.reason.startswith("shadow: not on PATH")
    programs("shadow", "tgen")
    assert choose_engine("auto", BOTH).reason.startswith("oniontrace: not on PATH")
    programs("oniontrace")
    assert choose_engine("auto", BOTH).engine == "shadow"


def test_auto_takes_the_first_in_the_order_of_the_experiment(programs, monkeypatch):
    monkeypatch.setattr(selection, "lacking", lambda name, **_: "no Shadow" if name == "shadow" else "")
    assert choose_engine("auto", ("cellsim", "emulation")).engine == "cellsim"
    assert choose_engine("auto", ("shadow", "emulation", "cellsim")) == Choice("emulation", "no Shadow")
    with pytest.raises(ToolMissing, match="no engine of this experiment can run here: no Shadow"):
        choose_engine("auto", ("shadow",))


def test_auto_plans_what_only_waits_for_a_build_of_tor(programs, monkeypatch):
    def no_libevent() -> None:
        raise ToolMissing("building tor needs libevent")

    monkeypatch.setattr(selection, "check_requirements", no_libevent)
    monkeypatch.setattr(selection, "tool_problem", lambda name, program: "is not built yet")
    choice = choose_engine("auto", ("shadow", "emulation"))
    assert choice == Choice("emulation", "as soon as tor can be built here")
    programs("cellsim")
    assert choose_engine("auto", ("shadow", "emulation", "cellsim")).engine == "cellsim"


@pytest.mark.parametrize(
    ("wanted", "engines"),
    [("emulation", BOTH), ("cellsim", ("shadow",)), ("ns3", BOTH), ("shadow-no-rtt", ("cellsim",))],
)
def test_an_engine_that_cannot_run_the_experiment_is_refused(programs, wanted, engines):
    with pytest.raises(InputError) as refusal:
        choose_engine(wanted, engines)
    assert str(refusal.value).startswith(f"engine: no engine that can run this experiment, got '{wanted}'")


def test_an_engine_that_was_asked_for_is_taken_though_it_lacks_a_tool(programs):
    for named in ("shadow", "shadow-no-rtt"):
        assert choose_engine(named, BOTH).engine == named
    with pytest.raises(ToolMissing, match="shadow: not on PATH") as lack:
        require_engine("shadow")
    assert lack.value.exit_code == 3


def test_a_missing_cellsim_says_how_to_get_it(programs):
    with pytest.raises(ToolMissing, match=r"not on PATH, nor beside python; `make setup` builds it"):
        require_engine("cellsim")
    programs("cellsim")
    require_engine("cellsim")
    assert find_own_program("cellsim").name == "cellsim"


def test_a_new_version_of_any_part_is_a_new_version_of_the_engine(programs):
    programs(*ANSWERS)
    before = version_of("shadow", ("1a2b3c", "4d5e6f"))
    assert "Shadow 3.3.0" in before and "TGen v1.1.2" in before
    assert before.endswith("tor build 1a2b3c; tor build 4d5e6f")
    programs("tgen", tgen="TGen v1.1.3")
    assert version_of("shadow", ("1a2b3c", "4d5e6f")) != before


@pytest.mark.parametrize("wanted", ["shadow", "auto"])
def test_a_shadow_that_measures_no_round_trips_is_an_engine_of_its_own(programs, wanted):
    programs(*ANSWERS, tcpi_rtt=0)
    choice = choose_engine(wanted, BOTH)
    assert choice.engine == "shadow-no-rtt"
    assert choice.reason.endswith("it measures no round trips")
    require_engine("shadow-no-rtt")


def test_runs_of_the_two_kinds_of_shadow_never_mix(programs):
    programs(*ANSWERS, tcpi_rtt=0)
    assert "Shadow 3.3.0" in version_of("shadow-no-rtt")
    with pytest.raises(ToolMissing, match="measures no round trips and is the engine shadow-no-rtt"):
        version_of("shadow")
    programs(*ANSWERS)
    assert "Shadow 3.3.0" in version_of("shadow")
    with pytest.raises(ToolMissing, match="shadow-no-rtt: the Shadow that is here measures round trips"):
        version_of("shadow-no-rtt")


def test_a_shadow_of_which_it_cannot_be_told_is_passed_over_or_refused(programs):
    programs("cellsim", *ANSWERS, tcpi_rtt="Killed")
    choice = choose_engine("auto", BOTH)
    assert choice.engine == "cellsim"
    assert "whether it measures round trips is not known" in choice.reason
    with pytest.raises(TorsweepError, match="is not known: the connection said 'Killed'"):
        choose_engine("shadow", BOTH)


def found(engine: str) -> list[str]:
    return [str(problem) for problem in problems(find_engine(engine))]


def test_a_tor_that_can_be_built_is_no_problem_and_one_that_cannot_is(programs, monkeypatch):
    def no_libevent() -> None:
        raise ToolMissing("building tor needs libevent with its headers")

    assert found("emulation") == []
    monkeypatch.setattr(selection, "check_requirements", no_libevent)
    assert found("emulation") == ["building tor needs libevent with its headers"]


@pytest.mark.parametrize(
    ("function", "value", "complaint"),
    [
        ("machine", "aarch64", "runs on x86_64, this is aarch64"),
        ("release", "5.4.0-generic", "needs Linux 5.10 or later, this is 5.4.0-generic"),
    ],
)
def test_a_platform_that_shadow_does_not_support_is_a_problem(
    programs, patched_tor, monkeypatch, function, value, complaint
):
    programs(*ANSWERS)
    monkeypatch.setattr(shadow.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shadow.platform, "release", lambda: "6.1.0-18-amd64")
    assert found("shadow") == []
    monkeypatch.setattr(shadow.platform, function, lambda: value)
    (problem,) = found("shadow")
    assert complaint in problem
