"""What Snakemake would do in the study of a comparison, with stand-ins for Shadow and a compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workflow import warm
from tests.workflow.conftest import TIMEOUT_S
from torsweep.study.document import Setup, make_study
from torsweep.study.play import Play
from torsweep.study.tor_change import Sides, read_change


@pytest.fixture(autouse=True)
def here(shadow_and_compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, on a machine without the source of tor."""
    monkeypatch.chdir(tmp_path)


def _planned(asked: Sides, networks: str = "2") -> dict[str, int]:
    """How many jobs of each rule the command of the comparison would start."""
    options = {"networks": networks, "era": "today", "warm_up": "20 s", "measured": "30 s", "pairing": "free"}
    study = make_study(read_change(asked), Setup.read(**options), "ci", None, "torsweep compare")
    study.write()
    play = Play(study, "shadow", 2)
    answer = warm.run([*play.command()[2:], "--dry-run"], Path.cwd(), TIMEOUT_S)
    said = answer.stdout
    assert answer.returncode == 0, said
    table = said.split("Job stats:")[1].split("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def test_an_option_takes_one_build_and_two_runs_a_network() -> None:
    asked = Sides(torrc=("KISTSchedRunInterval 1 msec",))
    jobs = _planned(asked)
    assert jobs["build_tor"] == 1
    assert (jobs["sample_network"], jobs["run"]) == (2, 4)
    assert (jobs["draw_figure"], jobs["report_plan"]) == (6, 1)
    assert _planned(asked, networks="3")["run"] == 6


def test_a_patch_takes_two_builds(tmp_path: Path) -> None:
    patch = tmp_path / "kist-idle.patch"
    patch.write_text("--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int a;\n+int b;\n")
    jobs = _planned(Sides(f"patch:{patch}"))
    assert (jobs["build_tor"], jobs["run"]) == (2, 4)


def test_the_same_tor_again_takes_one_build_and_runs_of_its_own() -> None:
    jobs = _planned(Sides("same"))
    assert (jobs["build_tor"], jobs["run"]) == (1, 4)
