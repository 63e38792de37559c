"""Which findings a pipeline makes, from which runs, and where a summary shows them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.findings.places import FindingsPlan
from torsweep.pipeline.paths import Paths, PlanPath

REPOSITORY = Path(__file__).parents[3]
BASELINE = "refill_interval=100ms+circuit_policy=ewma"
SIZE = {"network": "ci", "replicates": 2}
OWN = PlanPath("refill_sweep", "cellsim", "2012", "ci", "main")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without results."""
    for name in ("experiments", "configs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finish(checkout: Path, engine: str, variant: str, network: str = "ci", seed: int = 1) -> None:
    """Leave the record of a finished run."""
    folder = checkout / "results/runs/refill_sweep" / engine / "2012" / network / str(seed) / variant
    folder.mkdir(parents=True)
    (folder / "provenance.json").touch()


def wildcards(asked: str, network: str = "ci") -> SimpleNamespace:
    return SimpleNamespace(experiment="refill_sweep", asked=asked, era="2012", network=network, plan="main")


def refusal(capsys: pytest.CaptureFixture[str], **config: object) -> str:
    with pytest.raises(SystemExit) as stop:
        FindingsPlan(Paths(config)).targets()
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.count("\n") == 1
    return said


def test_what_is_asked_for_alone_waits_for_nothing(checkout: Path) -> None:
    finish(checkout, "emulation", BASELINE, "quarter", seed=5)
    plan = FindingsPlan(Paths({"experiment": "refill_sweep"}))
    assert "results/findings/refill_sweep/finished/2012/any/main/findings.md" in plan.targets()
    assert len(plan.given(wildcards("finished", "any"))) == 1
    assert "--network" not in plan.arguments(wildcards("finished", "any"))
    same = FindingsPlan(Paths({"network": "quarter", "replicates": 3}))
    assert "results/findings/refill_sweep/finished/2012/quarter/main/findings.md" in same.targets()
    assert same.arguments(wildcards("finished", "quarter")).endswith("--network quarter --seeds 1-3")


def test_without_runs_or_with_a_plan_of_transports_they_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no run of the plan is finished" in refusal(capsys)
    assert "turns the transport itself" in refusal(capsys, plan="shadow_tcp")
