"""Which runs a comparison makes, which it takes as they stand, and what is refused before anything is run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torsweep.compare import plan as planning
from torsweep.compare.plan import ComparisonPlan
from torsweep.compare.sources import require_same_networks
from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError, ToolMissing
from torsweep.pipeline.paths import Paths

REPOSITORY = Path(__file__).parents[3]
BASELINE = "refill_interval=100ms+circuit_policy=ewma"
OTHER = "refill_interval=10ms+circuit_policy=ewma"
AS_SHADOW = "cellsim+tcp=linux_6_18+link_queue=codel"
SIZE = {"network": "ci", "replicates": 1, "first_seed": 41}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without results, in which every engine can run."""
    for name in ("experiments", "configs", "plotting"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "require_engine", lambda engine: None)
    return tmp_path


def finish(checkout: Path, engine: str, variant: str, circuits: bool = False, seed: int = 41) -> None:
    """Leave the manifest of a finished run."""
    folder = checkout / "results/runs/refill_sweep" / engine / "2012/ci" / str(seed) / variant
    folder.mkdir(parents=True)
    for name in ("provenance.json", *(["circuits.parquet"] if circuits else [])):
        (folder / name).touch()


def wildcards(sources: str, network: str = "ci") -> SimpleNamespace:
    joined = sources.replace(",", "_vs_")
    return SimpleNamespace(
        experiment="refill_sweep", sources=joined, era="2012", network=network, plan="main"
    )


def made(sources: str, **config: object) -> set[tuple[str, str, str]]:
    """Tree, engine and variant of each run that a comparison of the main plan makes."""
    asked = ComparisonPlan(Paths({**SIZE, "sources": sources, **config}))
    parts = [Path(file).parts for file in asked.runs(wildcards(sources))]
    assert all(part[-1] == "provenance.json" and part[-4:-2] == ("ci", "41") for part in parts)
    return {("/".join(part[1:-7]), part[-6], part[-2]) for part in parts}


def refusal(capsys: pytest.CaptureFixture[str], **config: Any) -> str:
    with pytest.raises(SystemExit) as stop:
        ComparisonPlan(Paths({**SIZE, **config})).targets()
    said = capsys.readouterr().err
    assert stop.value.code in (2, 3)
    assert said.count("\n") == 1
    return said


def test_of_a_costly_source_the_baseline_alone_is_repeated(checkout: Path) -> None:
    found = made(f"shadow,{AS_SHADOW},cellsim+replay=shadow", compare="all")
    ending = AS_SHADOW.removeprefix("cellsim")

    def of(variant: str) -> set[tuple[str, str]]:
        return {(tree, engine) for tree, engine, run in found if run in (variant, variant + ending)}

    each = {("runs", "shadow"), ("runs", "cellsim"), ("repeats", "cellsim"), ("replays/shadow", "cellsim")}
    assert of(OTHER) == each
    assert of(BASELINE) == each | {("repeats", "shadow")}
    assert ("replays/shadow", "cellsim", OTHER) in found


def test_two_sources_of_the_model_are_run_and_repeated(checkout: Path) -> None:
    found = made("cellsim,cellsim+tcp=linux_6_18")
    assert {(tree, run) for tree, _, run in found if run.startswith(OTHER)} == {
        (tree, OTHER + end) for tree in ("runs", "repeats") for end in ("", "+tcp=linux_6_18")
    }
    assert len(found) == 6 * 4


def test_the_model_runs_what_real_tor_has_finished(checkout: Path) -> None:
    finish(checkout, "shadow", OTHER)
    finish(checkout, "shadow", BASELINE, circuits=True)
    sources = "shadow,cellsim,cellsim+replay=shadow"
    assert made(sources) == {
        *((tree, "cellsim", run) for tree in ("runs", "repeats") for run in (OTHER, BASELINE)),
        ("replays/shadow", "cellsim", BASELINE),
    }
    asked = ComparisonPlan(Paths({**SIZE, "sources": sources}))
    assert {Path(run).name for run in asked.given(wildcards(sources))} == {OTHER, BASELINE}
    assert asked.arguments(wildcards(sources)).endswith("--network ci --seeds 41-41")
    replayed = SimpleNamespace(**vars(wildcards(sources)), replayed="shadow", seed="41", variant=BASELINE)
    assert asked.replayed_run(replayed) == [] and asked.replayed_record(replayed)
    folder = f"results/compare/refill_sweep/{sources.replace(',', '_vs_')}/2012/ci/main"
    assert {f"{folder}/comparison.json", f"{folder}/figures"} <= set(asked.targets())


def test_without_sources_what_is_finished_is_compared_and_nothing_is_run(checkout: Path) -> None:
    finish(checkout, "emulation", BASELINE)
    finish(checkout, "cellsim", BASELINE, seed=5)
    asked = ComparisonPlan(Paths({"experiment": "refill_sweep"}))
    folder = "results/compare/refill_sweep/emulation_vs_cellsim/2012/any/main"
    assert asked.targets() == [f"{folder}/comparison.json", f"{folder}/figures"]
    there = wildcards("emulation,cellsim", "any")
    assert asked.runs(there) == []
    assert len(asked.given(there)) == 2
    assert "--network" not in asked.arguments(there) and "--seeds" not in asked.arguments(there)
    same = ComparisonPlan(Paths({"network": "ci"}))
    assert same.targets()[0] == folder.replace("/any/", "/ci/") + "/comparison.json"


def test_what_cannot_be_compared_is_refused_in_one_line(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "fewer than two sources have finished runs" in refusal(capsys)
    assert "no run in shadow is finished" in refusal(capsys, sources="shadow,cellsim")
    assert "two or more are compared" in refusal(capsys, sources="shadow,shadow")
    assert "is not listed" in refusal(capsys, sources="cellsim,emulation", experiment="refill_waits")

    def require(engine: str) -> None:
        raise ToolMissing(f"{engine}: is not here")

    monkeypatch.setattr(planning, "require_engine", require)
    assert "shadow: is not here" in refusal(capsys, sources="shadow,cellsim", compare="all")


def test_a_plan_with_numbers_of_networks_by_level_is_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        ComparisonPlan(Paths({"experiment": "scale", "sources": "cellsim,shadow"})).targets()
    said = capsys.readouterr().err
    assert "replicates: cannot be compared with numbers of networks by level" in said
    assert said.count("\n") == 1
    with pytest.raises(InputError, match="numbers of networks by level"):
        require_same_networks(load_experiment("scale"))
    require_same_networks(load_experiment("scale", {"replicates": 2}))
