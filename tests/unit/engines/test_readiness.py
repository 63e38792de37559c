"""What keeps an engine from running here is said alike by the doctor, by ``auto`` and by a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stand_ins import tells_round_trip
from torsweep.doctor.diagnose import diagnose
from torsweep.engines import selection
from torsweep.engines.emulation import entry as emulation
from torsweep.engines.emulation.rights import Standing
from torsweep.engines.selection import (
    ENGINES,
    find_engine,
    problems,
    require_engine,
)
from torsweep.engines.shadow import entry as shadow
from torsweep.errors import ToolMissing, TorsweepError

ANSWERS = {"shadow": "Shadow 3.3.0", "tgen": "TGen v1.1.2", "oniontrace": "OnionTrace v1.0.0"}

Install = Callable[..., Path]
Situation = Callable[[pytest.MonkeyPatch, Install], None]


@pytest.fixture(autouse=True)
def tor_can_be_built(no_tools: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "check_requirements", lambda: None)


def found(engine: str) -> list[str]:
    return [str(problem) for problem in problems(find_engine(engine))]


def install_shadow(install: Install, tcpi_rtt: object = 100) -> None:
    for name, text in ANSWERS.items():
        install(name, text, after=tells_round_trip(tcpi_rtt))


def no_libevent() -> None:
    raise ToolMissing("building tor needs libevent with its headers")


def test_every_missing_tool_is_a_problem() -> None:
    assert [problem.split(":")[0] for problem in found("shadow")] == ["shadow", "tgen", "oniontrace"]


def test_a_tor_that_can_be_built_is_no_problem_and_one_that_cannot_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert found("emulation") == []
    monkeypatch.setattr(selection, "check_requirements", no_libevent)
    (problem,) = found("emulation")
    assert problem == "building tor needs libevent with its headers"


@pytest.mark.parametrize(
    ("function", "value", "complaint"),
    [
        ("machine", "aarch64", "runs on x86_64, this is aarch64"),
        ("release", "5.4.0-generic", "needs Linux 5.10 or later, this is 5.4.0-generic"),
    ],
)
def test_a_platform_that_shadow_does_not_support_is_a_problem(
    install: Install,
    patched_tor: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    value: str,
    complaint: str,
) -> None:
    install_shadow(install)
    monkeypatch.setattr(shadow.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shadow.platform, "release", lambda: "6.1.0-18-amd64")
    assert found("shadow") == []
    monkeypatch.setattr(shadow.platform, function, lambda: value)
    (problem,) = found("shadow")
    assert complaint in problem


def _nothing(_patch: pytest.MonkeyPatch, _install: Install) -> None: ...


def _shadow(_patch: pytest.MonkeyPatch, install: Install) -> None:
    install_shadow(install)


def _shadow_without_libevent(patch: pytest.MonkeyPatch, install: Install) -> None:
    install_shadow(install)
    patch.setattr(selection, "check_requirements", no_libevent)


def _shadow_on_another_platform(patch: pytest.MonkeyPatch, install: Install) -> None:
    install_shadow(install)
    patch.setattr(shadow.platform, "machine", lambda: "riscv64")


def _shadow_of_no_known_kind(_patch: pytest.MonkeyPatch, install: Install) -> None:
    install_shadow(install, "Killed")


def _no_rights(patch: pytest.MonkeyPatch, _install: Install) -> None:
    patch.setattr(emulation, "standing", lambda: Standing("neither", "no TUN"))


@pytest.mark.parametrize(
    "situation",
    [
        _nothing,
        _shadow,
        _shadow_without_libevent,
        _shadow_on_another_platform,
        _shadow_of_no_known_kind,
        _no_rights,
    ],
)
def test_the_doctor_and_a_run_agree(
    situation: Situation, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    situation(monkeypatch, install)
    diagnosis = diagnose(list(ENGINES))
    for outlook in diagnosis.outlooks:
        assert outlook.can_run == _runs(outlook.engine), outlook.problems


def _runs(engine: str) -> bool:
    try:
        require_engine(engine)
    except TorsweepError as error:
        assert str(error) == found(engine)[0]
        return False
    return True
