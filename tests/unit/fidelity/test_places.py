"""Which files a comparison of engines is made of, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.errors import ToolMissing
from torsweep.fidelity import places
from torsweep.fidelity.matches import MODEL_REPEAT, REFERENCE, REPLAY
from torsweep.fidelity.places import FidelityPlan, Pair, run_directory
from torsweep.pipeline.paths import Paths, PlanPath

REPOSITORY = Path(__file__).parents[3]
BASELINE = "refill_interval=100ms+circuit_policy=ewma"
OTHER = "refill_interval=10ms+circuit_policy=ewma"
AS_SHADOW, AS_EMULATION = "+tcp=shadow+link_queue=codel", "+tcp=linux_6_18"
"""What the model's variants go on with beside these engines."""
SIZE = {"network": "ci", "replicates": 1, "first_seed": 41}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder without results, in which every engine can run."""
    for name in ("experiments", "configs"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "require_engine", lambda engine: None)
    monkeypatch.setattr(places, "choose_engine", lambda engine, listed: SimpleNamespace(engine=engine))
    return tmp_path


def finish(checkout: Path, engine: str, variant: str, circuits: bool = False) -> None:
    """Leave a finished run of ``engine``."""
    folder = checkout / "results/runs/refill_sweep" / engine / "2012/ci/41" / variant
    folder.mkdir(parents=True)
    tables = ["streams.parquet", "relays.parquet", *(["circuits.parquet"] if circuits else [])]
    for name in ("run.json", *tables):
        (folder / name).touch()
    (folder / "provenance.json").write_text(json.dumps({"tables": dict.fromkeys(tables, "")}))


def wanted(model: str, reference: str, **config: object) -> set[tuple[str, str, str]]:
    """Tree, engine and variant of each run that a comparison of the main plan waits for."""
    plan = FidelityPlan(Paths({**SIZE, **config}))
    levels = {"era": "2012", "network": "ci", "plan": "main", "experiment": "refill_sweep"}
    files = plan.runs(SimpleNamespace(model=model, reference=reference, **levels))
    parts = [Path(file).parts for file in files]
    assert all(part[-4:-2] == ("ci", "41") and part[-1] == "provenance.json" for part in parts)
    return {("/".join(part[1:-7]), part[-6], part[-2]) for part in parts}


def refusal(capsys, **config) -> str:
    with pytest.raises(SystemExit) as stop:
        FidelityPlan(Paths({**SIZE, **config})).targets()
    said = capsys.readouterr().err
    assert stop.value.code in (2, 3)
    assert said.count("\n") == 1
    return str(said)


def test_of_a_costly_reference_the_baseline_alone_is_repeated(checkout):
    found = wanted("cellsim", "shadow")
    names = {engine: AS_SHADOW if engine == "cellsim" else "" for engine in ("cellsim", "shadow")}
    of_other, of_baseline = (
        {
            (tree, engine)
            for tree, engine, run in found
            if run == variant + ("" if tree.startswith("replays") else names[engine])
        }
        for variant in (OTHER, BASELINE)
    )
    made = {("runs", "shadow"), ("runs", "cellsim"), ("replays/shadow", "cellsim"), ("repeats", "cellsim")}
    assert of_other == made
    assert of_baseline == made | {("repeats", "shadow")}


def test_between_two_costly_engines_nothing_is_replayed(checkout):
    found = wanted("shadow-no-rtt", "shadow")
    assert {(tree, engine) for tree, engine, variant in found if variant == OTHER} == {
        ("runs", "shadow"),
        ("runs", "shadow-no-rtt"),
    }
    assert ("repeats", "shadow", BASELINE) in found
    assert ("repeats", "shadow-no-rtt", BASELINE) in found
    assert not any("replays" in tree for tree, *_ in found)


def test_against_the_emulation_there_are_no_circuits_to_replay(checkout):
    assert {(tree, engine) for tree, engine, _ in wanted("cellsim", "emulation")} == {
        ("runs", "cellsim"),
        ("runs", "emulation"),
        ("repeats", "cellsim"),
        ("repeats", "emulation"),
    }
    assert {(tree, engine) for tree, engine, _ in wanted("shadow", "emulation")} == {
        ("runs", "shadow"),
        ("runs", "emulation"),
        ("repeats", "shadow"),
        ("repeats", "emulation"),
    }


def test_the_model_has_the_transport_of_the_other_engine_or_the_one_asked_for(checkout):
    def of_model(model: str, reference: str) -> set[str]:
        found = wanted(model, reference)
        return {run.removeprefix(OTHER) for _, engine, run in found if engine == "cellsim" and OTHER in run}

    assert of_model("cellsim", "emulation") == {AS_EMULATION}
    assert of_model("shadow", "cellsim") == {AS_SHADOW}
    assert of_model("cellsim+tcp=linux", "emulation") == {""}
    # Another TCP than the reference's: a replay would have that, and is left out.
    assert of_model("cellsim+tcp=linux", "shadow") == {"+link_queue=codel"}
    config = {**SIZE, "model": "cellsim", "reference": "emulation", "tcp": "linux"}
    folder = "results/fidelity/refill_sweep/cellsim+tcp=linux_against_emulation/2012/ci/main"
    assert f"{folder}/fidelity.md" in FidelityPlan(Paths(config)).targets()


def test_a_tcp_of_two_engines_that_have_their_own_is_refused(checkout, capsys):
    said = refusal(capsys, model="shadow", reference="emulation", tcp="linux")
    assert "tcp: is of the model alone" in said


def test_only_cellsim_is_started_for_finished_runs(checkout):
    finish(checkout, "shadow", BASELINE, circuits=True)
    finish(checkout, "shadow", OTHER)
    finish(checkout, "shadow-no-rtt", OTHER)
    assert wanted("cellsim", "shadow", compare="finished") == {
        ("runs", "cellsim", BASELINE + AS_SHADOW),
        ("repeats", "cellsim", BASELINE + AS_SHADOW),
        ("replays/shadow", "cellsim", BASELINE),
        ("runs", "cellsim", OTHER + AS_SHADOW),
        ("repeats", "cellsim", OTHER + AS_SHADOW),
    }
    assert wanted("shadow-no-rtt", "shadow", compare="finished") == set()
    targets = FidelityPlan(
        Paths({**SIZE, "compare": "finished", "model": "shadow-no-rtt", "reference": "shadow"})
    ).targets()
    folder = "results/fidelity/refill_sweep/shadow-no-rtt_against_shadow/2012/ci/main"
    assert f"{folder}/fidelity.md" in targets
    assert f"{folder}/curves/{OTHER}.pdf" in targets
    assert not any(BASELINE in target for target in targets)


@pytest.mark.parametrize("name", ["run.json", "streams.parquet", "relays.parquet"])
def test_a_finished_run_that_lacks_a_file_is_refused(checkout, capsys, name):
    finish(checkout, "shadow", BASELINE)
    config = {"compare": "finished", "model": "cellsim", "reference": "shadow"}
    assert FidelityPlan(Paths({**SIZE, **config})).targets()
    file = Path("results/runs/refill_sweep/shadow/2012/ci/41") / BASELINE / name
    file.unlink()
    assert f"{file}: is missing from a finished run" in refusal(capsys, **config)


def test_a_finished_run_that_lacks_its_record_is_left_out(checkout, capsys):
    finish(checkout, "shadow", BASELINE)
    finish(checkout, "shadow", OTHER)
    config = {"compare": "finished", "model": "cellsim", "reference": "shadow"}
    (checkout / "results/runs/refill_sweep/shadow/2012/ci/41" / BASELINE / "provenance.json").unlink()
    targets = FidelityPlan(Paths({**SIZE, **config})).targets()
    assert any(OTHER in target for target in targets)
    assert not any(BASELINE in target for target in targets)


def test_replays_of_two_references_stand_apart(checkout):
    variant = Paths(SIZE).experiment("refill_sweep").plan("main").baseline
    place = PlanPath("refill_sweep", "", "2012", "ci", "main")
    folders = {
        str(run_directory(REPLAY, Pair("cellsim", reference), place, variant, 41))
        for reference in ("shadow", "shadow-no-rtt")
    }
    assert len(folders) == 2
    repeat = run_directory(MODEL_REPEAT, Pair("cellsim", "shadow"), place, variant, 41)
    assert str(repeat).startswith("results/repeats/refill_sweep/cellsim/")
    original = run_directory(REFERENCE, Pair("cellsim", "shadow"), place, variant, 41)
    assert str(original).startswith("results/runs/refill_sweep/shadow/")


def test_an_experiment_without_the_reference_is_refused_in_one_line(monkeypatch, capsys):
    sweep = Paths({"experiment": "refill_sweep", "compare": "finished"})
    without = sweep.experiment("refill_sweep").model_copy(update={"engines": ("cellsim",)})
    monkeypatch.setattr(sweep, "experiment", lambda name: without)
    with pytest.raises(SystemExit) as stop:
        FidelityPlan(sweep).targets()
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.count("\n") == 1 and "refill_sweep: does not list the engine shadow" in said


def test_an_engine_against_itself_is_refused(checkout, capsys):
    assert "model: is the reference too" in refusal(capsys, model="shadow", reference="shadow")


def test_without_a_finished_run_of_the_costly_engine_nothing_is_compared(checkout, capsys):
    finish(checkout, "shadow", BASELINE)
    said = refusal(capsys, compare="finished", model="cellsim", reference="shadow-no-rtt")
    assert "no run in shadow-no-rtt is finished" in said


def test_a_kind_of_shadow_that_is_not_here_is_refused(checkout, capsys, monkeypatch):
    def require(engine: str) -> None:
        if engine == "shadow-no-rtt":
            raise ToolMissing("shadow-no-rtt: the Shadow that is here measures round trips")

    monkeypatch.setattr(places, "require_engine", require)
    said = refusal(capsys, model="shadow-no-rtt", reference="shadow")
    assert "the Shadow that is here measures round trips" in said
