"""What keeps an engine from running here is said alike by the doctor, by ``auto`` and by a run."""

from __future__ import annotations

import pytest

from tests.stand_ins import ANSWERS, tells_round_trip
from torsweep.engines import selection
from torsweep.engines.registry import find_engine
from torsweep.engines.selection import problems
from torsweep.engines.shadow import entry as shadow
from torsweep.errors import ToolMissing


@pytest.fixture(autouse=True)
def tor_can_be_built(no_tools: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "check_requirements", lambda: None)


def found(engine: str) -> list[str]:
    return [str(problem) for problem in problems(find_engine(engine))]


def test_a_tor_that_can_be_built_is_no_problem_and_one_that_cannot_is(monkeypatch):
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
    install, patched_tor, monkeypatch, function, value, complaint
):
    for name, text in ANSWERS.items():
        install(name, text, after=tells_round_trip(100))
    monkeypatch.setattr(shadow.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shadow.platform, "release", lambda: "6.1.0-18-amd64")
    assert found("shadow") == []
    monkeypatch.setattr(shadow.platform, function, lambda: value)
    (problem,) = found("shadow")
    assert complaint in problem
