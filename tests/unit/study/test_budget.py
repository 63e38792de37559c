"""How many networks a time, or a change, comes to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torsweep.errors import InputError
from torsweep.study import request
from torsweep.study.document import Setup, Study
from torsweep.study.request import fitted, read_goal

SETUP = Setup.read()


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes a minute and what is measured; the spread of 1 min is 1.5 times that of 2 and of 4 min."""
    monkeypatch.setattr(request, "Workload", StandIn)


class StandIn:
    """The plan of a setup, by arithmetic."""

    known_times_s = (60, 120, 240)
    standing: dict[int, int] = {}  # noqa: RUF012

    def __init__(self, setup: Setup) -> None:
        self.measured_s = setup.measured // 10**9
        network = {"network": "quarter"}
        self.play = SimpleNamespace(
            study=SimpleNamespace(document=network, planned_networks=self.standing.get(self.measured_s))
        )

    def seconds(self, networks: int) -> float:
        return 240 + 2 * networks * (60 + self.measured_s)

    def smallest_shown(self, networks: int) -> float | None:
        return (0.3 if self.measured_s == 60 else 0.2) / networks**0.5 if self.known_times_s else None


def plan(stated: bool = False, **options: str | None) -> tuple[int, int]:
    goal = read_goal(**{"networks": None, "within": None, "shows": None, **options})
    assert goal is not None
    stood: Any = lambda setup: setup  # noqa: E731
    chosen = fitted(goal, SETUP, stated, stood)
    return chosen.networks, chosen.measured // 10**9


def test_a_time_comes_to_the_plan_that_shows_the_smallest_change() -> None:
    # 3,360 s of runs of 180 s, two for each network; of 120 s it would be 14, which show less.
    assert plan(within="1 h") == (9, 120)
    assert plan(within="70 min") == (11, 120)


def test_a_change_comes_to_the_plan_that_takes_the_shortest_time() -> None:
    assert plan(shows="5 %") == (16, 120)
    assert plan(shows="50%") == (2, 60), "two networks have an interval, whatever is measured"


def test_a_stated_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "known_times_s", (60,))
    assert plan(stated=True, shows="5 %") == (16, 120)


def test_the_same_command_goes_on_with_its_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "standing", {240: 7})
    assert plan(within="1 h") == (7, 240)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"within": "0"}, "--within: is no time, got '0'; accepted: such as '1 h'"),
        ({"within": "0 s"}, "--within: is too short, got '0 s'; accepted: 13 min or more, for 2 networks"),
        ({"within": "10 min"}, "--within: is too short, got '10 min'; accepted: 13 min or more"),
        ({"shows": "five"}, "--shows: is no change, got 'five'; accepted: such as 5%, up to 100%"),
        ({"shows": "5"}, "--shows: is no change, got '5'; accepted: such as 5%"),
        ({"shows": "0 %"}, "--shows: is no change"),
        ({"shows": "0.1 %"}, "--shows: is too small, got '0.1 %'; accepted: more than 0.6 %, by 1000"),
        ({"shows": "5 %", "within": "1 h"}, "--shows: says how many networks beside another option"),
        ({"networks": "8", "within": "1 h"}, "--within: says how many networks beside another option"),
    ],
)
def test_what_cannot_be_is_one_line(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        plan(**options)
    assert str(refused.value).startswith(problem)


def test_the_least_time_that_is_named_is_accepted() -> None:
    assert plan(within="13 min") == (2, 60)


def test_what_nobody_has_run_cannot_be_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "known_times_s", ())
    with pytest.raises(InputError, match="no A/A runs on quarter yet, got '1 h'; accepted: --networks N"):
        plan(within="1 h")


def test_a_study_knows_the_command_that_began_it(tmp_path: Path) -> None:
    report = {"title": "x", "source": "torsweep compare --within '1 h'"}
    study = Study(tmp_path, "x", {"report": report}, {}, {})
    assert study.planned_networks is None
    study.file.parent.mkdir(parents=True)
    study.file.write_text("report: {title: x, source: \"torsweep compare --within '1 h'\"}\nreplicates: 7\n")
    assert study.planned_networks == 7
    other = Study(tmp_path, "x", {"report": {**report, "source": "torsweep compare"}}, {}, {})
    assert other.planned_networks is None
    study.file.write_text(study.file.read_text().replace("7", "auto"))
    with pytest.raises(InputError, match=r"experiment\.yaml: replicates: is not accepted, got 'auto'"):
        _ = study.planned_networks
