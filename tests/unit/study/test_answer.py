"""The text to paste: what was found, with which tors, on which machine, and what chance alone does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analyses import change_verdict, claims_file_of
from tests.model_comparison import experiment
from torsweep.config.experiment import MAIN_PLAN
from torsweep.pipeline.tree import PlanPath
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.change import EVERYONE
from torsweep.stats.comparison import Comparison, comparison
from torsweep.study.answer import ComparisonAnswer, answer_of
from torsweep.study.document import Setup, make_study
from torsweep.study.play import Play
from torsweep.study.tor_change import Sides, read_change
from torsweep.study.workload import Workload

COMMAND = "torsweep compare --candidate ../tor@my-branch"


def said(nothing: dict[str, tuple[float, float]] | None = None, **bounds: tuple[float, float]) -> Comparison:
    found = claims_file_of(change_verdict("web", **bounds), change_verdict(EVERYONE, **(nothing or {})))
    return comparison(found, claims_of(experiment()))


@pytest.fixture
def plan(repository: Path, tmp_path: Path) -> Workload:
    """The plan of a branch against where it left main, in networks of small_live."""
    change = read_change(Sides(candidate=f"{repository}@my-branch"))
    study = make_study(change, Setup.read(), "small_live", tmp_path / "study", COMMAND)
    return Workload(Play(study, "emulation", 2))


def finish_run(plan: Workload, level: str, version: str) -> None:
    """Leave what a run on the first network says of itself."""
    place = PlanPath(plan.play.study.name, "emulation", "today", "small_live", MAIN_PLAN)
    variant = next(each for each in plan.experiment.plan().variants if dict(each.levels)["tor"] == level)
    folder = plan.play.study.folder / place.run_directory(variant, 1)
    folder.mkdir(parents=True)
    machine = {"cpu": "A CPU", "cores": 2, "kernel": "6.1.0"}
    (folder / "provenance.json").write_text(json.dumps({"engine_version": version, "machine": machine}))


def test_the_block_says_what_it_was_found_with(plan: Workload, repository: Path) -> None:
    finish_run(plan, "merge_base", "0.1.0, tor 0.4.9.1-aaaa")
    finish_run(plan, "my_branch", "0.1.0, tor 0.4.9.1-bbbb")
    answer = answer_of(plan, said(paired_ttfb=(0.02, 0.1)), "my-branch, against main")
    commits = [tor.revision for tor in plan.experiment.tors.values()]
    assert answer.facts["baseline"] == f"merge_base, commit {commits[0]}, 0.1.0, tor 0.4.9.1-aaaa"
    assert answer.facts["candidate"] == f"my_branch, commit {commits[1]}, 0.1.0, tor 0.4.9.1-bbbb"
    assert answer.facts["networks"] == "8 networks of small_live, emulation, era today, 2 min measured"
    assert answer.facts["machine"] == "A CPU, 2 cores, Linux 6.1.0"
    lines = answer.markdown().splitlines()
    assert "| web, first byte, same download | +6.0 % (+100 ms) | \\[+2.0, +10.0] % | shown |" in lines
    assert lines[-1] == f"    {COMMAND}"


def test_json_has_the_numbers_of_the_block_and_not_what_deleted_runs_said(plan: Workload) -> None:
    document = json.loads(answer_of(plan, said(paired_ttfb=(0.02, 0.1)), "x").json_text())
    assert (document["verdict"], document["command"]) == ("shown", COMMAND)
    assert "machine" not in document and document["candidate"].startswith("my_branch, commit ")
    first = document["kinds"][0]["measures"][0]
    assert first["measure"] == "paired_ttfb" and (first["low"], first["high"]) == (0.02, 0.1)


@pytest.mark.parametrize(
    ("bounds", "nothing", "worse"),
    [
        ({}, {}, False),
        ({"paired_ttfb": (-0.1, -0.02)}, {}, False),
        ({"paired_ttfb": (0.02, 0.1)}, {}, True),
        ({"paired_ttfb": (-0.1, -0.02)}, {"without_progress": (0.02, 0.1)}, True),
        ({"paired_ttfb": (-0.1, -0.02)}, {"without_progress": (-0.01, 0.1)}, True),
    ],
)
def test_what_is_worse_for_some_is_worse(
    bounds: dict[str, tuple[float, float]], nothing: dict[str, tuple[float, float]], worse: bool
) -> None:
    answer = ComparisonAnswer("x", said(nothing, **bounds), {}, COMMAND)
    assert answer.fails(["worse"]) is worse
    assert not answer.fails([])


def test_the_block_stands_beside_the_page(tmp_path: Path) -> None:
    file = ComparisonAnswer("a_b, against c", said(), {}, COMMAND).write(tmp_path / "new" / "page.html")
    assert file == tmp_path / "new" / "answer.md"
    assert file.read_text().startswith("**a\\_b, against c**")
