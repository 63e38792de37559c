"""Which runs a plan of several sources makes, which it takes as they stand, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torsweep.errors import ToolMissing
from torsweep.pipeline import tree as planning
from torsweep.pipeline.arguments import Arguments
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


def finish(checkout: Path, engine: str, variant: str, seed: int = 41) -> None:
    """Leave the manifest of a finished run."""
    folder = checkout / "results/runs/refill_sweep" / engine / "2012/ci" / str(seed) / variant
    folder.mkdir(parents=True)
    (folder / "provenance.json").touch()


def wildcards(sources: str) -> SimpleNamespace:
    joined = sources.replace(",", "_vs_")
    return SimpleNamespace(experiment="refill_sweep", engine=joined, era="2012", network="ci", plan="main")


def made(sources: str, **config: object) -> set[tuple[str, str, str]]:
    """Tree, engine and variant of each run of the main plan that is made."""
    files = Paths({**SIZE, "engine": sources, **config}).runs(wildcards(sources))
    parts = [Path(file).parts for file in files]
    assert all(part[-1] == "provenance.json" and part[-4:-2] == ("ci", "41") for part in parts)
    return {("/".join(part[1:-7]), part[-6], part[-2]) for part in parts}


def refusal(capsys: pytest.CaptureFixture[str], experiment: str = "refill_sweep", **config: Any) -> str:
    with pytest.raises(SystemExit) as stop:
        Paths(config).targets(experiment)
    said = capsys.readouterr().err
    assert stop.value.code in (2, 3)
    assert said.count("\n") == 1
    return said


def test_of_a_costly_source_the_baseline_alone_is_repeated(checkout):
    found = made(f"shadow,{AS_SHADOW}", runs="all")
    ending = AS_SHADOW.removeprefix("cellsim")

    def of(variant: str) -> set[tuple[str, str]]:
        return {(tree, engine) for tree, engine, run in found if run in (variant, variant + ending)}

    each = {("runs", "shadow"), ("runs", "cellsim"), ("repeats", "cellsim")}
    assert of(OTHER) == each
    assert of(BASELINE) == each | {("repeats", "shadow")}


def test_two_sources_of_the_model_are_run_and_repeated(checkout):
    found = made("cellsim,cellsim+tcp=linux_6_18")
    assert {(tree, run) for tree, _, run in found if run.startswith(OTHER)} == {
        (tree, OTHER + end) for tree in ("runs", "repeats") for end in ("", "+tcp=linux_6_18")
    }
    assert len(found) == 6 * 4


def test_the_model_runs_what_real_tor_has_finished(checkout):
    finish(checkout, "shadow", OTHER)
    finish(checkout, "shadow", BASELINE)
    sources = "shadow,cellsim"
    assert made(sources) == {
        (tree, "cellsim", run) for tree in ("runs", "repeats") for run in (OTHER, BASELINE)
    }
    paths = Paths({**SIZE, "engine": sources})
    arguments, place = Arguments(paths), wildcards(sources)
    assert {Path(run).name for run in arguments.finished(place)} == {OTHER, BASELINE}
    assert arguments.sources(place) == sources
    assert f"results/runs/refill_sweep/shadow/2012/ci/41/{OTHER}" in arguments.runs(place)
    figures = f"results/figures/refill_sweep/{sources.replace(',', '_vs_')}/2012/ci/main"
    assert f"{figures}/ttfb_cdf.pdf" in paths.targets("refill_sweep")


def test_what_cannot_be_compared_is_refused_in_one_line(checkout, capsys, monkeypatch):
    assert "no run in shadow is finished" in refusal(capsys, **SIZE, engine="shadow,cellsim")
    assert "two or more are compared" in refusal(capsys, **SIZE, engine="shadow,shadow")
    assert "is not listed" in refusal(capsys, "scale", **SIZE, engine="cellsim,emulation")
    by_level = "replicates: cannot be compared with numbers of networks by level"
    assert by_level in refusal(capsys, "scale", engine="cellsim,shadow")

    def require(engine: str) -> None:
        raise ToolMissing(f"{engine}: is not here")

    monkeypatch.setattr(planning, "require_engine", require)
    assert "shadow: is not here" in refusal(capsys, **SIZE, engine="shadow,cellsim", runs="all")
