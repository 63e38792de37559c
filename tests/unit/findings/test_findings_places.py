"""Which findings a pipeline makes, from which runs, and where a summary shows them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.findings.places import FindingsPlan
from torsweep.pipeline.results_tree import Place
from torsweep.pipeline.sweep import Sweep

REPOSITORY = Path(__file__).parents[3]
BASELINE = "refill_interval=100ms+circuit_policy=ewma"
SIZE = {"network": "ci", "replicates": 2}
OWN = Place("refill_sweep", "cellsim", "2012", "ci", "main")


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
        FindingsPlan(Sweep(config)).targets()
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.count("\n") == 1
    return said


def test_a_plan_alone_has_no_findings(checkout: Path) -> None:
    finish(checkout, "cellsim", BASELINE)
    finish(checkout, "cellsim", BASELINE, seed=7)
    sweep = Sweep(SIZE)
    assert FindingsPlan(sweep).files_of(OWN) == []
    assert sweep.findings_files(OWN) == []


@pytest.mark.parametrize(
    ("engine", "variant", "network"),
    [
        ("emulation", BASELINE, "quarter"),
        ("cellsim", f"{BASELINE}+tcp=shadow+link_queue=codel", "ci"),
    ],
)
def test_beside_another_transport_a_plan_shows_them(
    checkout: Path, engine: str, variant: str, network: str
) -> None:
    finish(checkout, engine, variant, network)
    sweep = Sweep(SIZE)
    plan = FindingsPlan(sweep)
    folder = "results/findings/refill_sweep/cellsim/2012/ci/main"
    assert {f"{folder}/findings.json", f"{folder}/findings.png"} <= set(sweep.findings_files(OWN))
    # A summary reads one of them: a picture of them that is drawn again changes no summary.
    own = SimpleNamespace(**vars(wildcards("cellsim")), engine="cellsim")
    assert plan.verdicts_of_plan(own) == [f"{folder}/findings.json"]
    # It waits for the plan's own runs, and starts none of the others.
    awaited = plan.runs(wildcards("cellsim"))
    assert len(awaited) == 12 and all("/cellsim/2012/ci/" in file and "tcp=" not in file for file in awaited)
    (given,) = plan.given(wildcards("cellsim"))
    assert given.endswith(variant)
    assert "--seeds 1-2" in plan.arguments(wildcards("cellsim"))
    assert "--network" not in plan.arguments(wildcards("cellsim"))


def test_what_is_asked_for_alone_waits_for_nothing(checkout: Path) -> None:
    finish(checkout, "emulation", BASELINE, "quarter", seed=5)
    plan = FindingsPlan(Sweep({"experiment": "refill_sweep"}))
    assert "results/findings/refill_sweep/finished/2012/any/main/findings.md" in plan.targets()
    assert plan.runs(wildcards("finished", "any")) == []
    assert len(plan.given(wildcards("finished", "any"))) == 1
    assert "--network" not in plan.arguments(wildcards("finished", "any"))
    same = FindingsPlan(Sweep({"network": "quarter", "replicates": 3}))
    assert "results/findings/refill_sweep/finished/2012/quarter/main/findings.md" in same.targets()
    assert same.arguments(wildcards("finished", "quarter")).endswith("--network quarter --seeds 1-3")


def test_without_runs_or_with_a_plan_of_transports_they_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no run of the plan is finished" in refusal(capsys)
    assert "turns the transport itself" in refusal(capsys, plan="shadow_tcp")
    assert (
        FindingsPlan(Sweep(SIZE)).files_of(Place("refill_sweep", "cellsim", "2012", "ci", "shadow_tcp")) == []
    )


def test_findings_that_are_given_stand_in_for_runs(checkout: Path) -> None:
    (checkout / "given.json").write_text("{}")
    plan = FindingsPlan(Sweep({**SIZE, "findings": "given.json"}))
    assert plan.files_of(OWN)
    assert plan.runs(wildcards("cellsim")) == []
    assert "--given given.json" in plan.arguments(wildcards("cellsim"))
