"""A repeat is the same run with another seed; a replay is cellsim on the circuits that tor chose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.fidelity.conftest import VARIANTS, MakeRun
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.errors import InputError
from torsweep.fidelity.derive import derive, repeat_seed, repeated, replayed
from torsweep.fidelity.matches import REFERENCE
from torsweep.seeds import MOST_SEED


@pytest.fixture
def original(make_run: MakeRun) -> Path:
    directory = make_run(REFERENCE, VARIANTS[0], 1)
    network = directory / read_run(directory).network
    network.mkdir(parents=True)
    relays = [{"name": f"relay{number}"} for number in range(1, 5)]
    (network / "network.json").write_text(json.dumps({"relays": relays}))
    return directory


def _differing(one: RunSpec, other: RunSpec) -> set[str]:
    return {key for key in RunSpec.model_fields if getattr(one, key) != getattr(other, key)}


def test_a_repeat_differs_in_its_seed_alone(original: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "repeat"
    run = derive(original, out, replay=False)
    assert _differing(run, read_run(original)) == {"seed", "network"}
    assert run.seed == repeat_seed(1) != 1
    assert (out / run.network / "network.json").samefile(
        original / read_run(original).network / "network.json"
    )
    assert read_run(out) == run


def test_a_repeat_of_the_largest_seed_is_a_seed() -> None:
    assert 0 <= repeat_seed(MOST_SEED) <= MOST_SEED


def test_a_replay_differs_in_engine_and_paths_alone(original: Path, tmp_path: Path) -> None:
    circuits = [["relay1", "relay2", "relay3"], ["relay4", "relay2", "relay1"]]
    (original / "paths.json").write_text(json.dumps({"web1": circuits, "web2": []}))
    run = replayed(original, tmp_path / "replay")
    assert _differing(run, read_run(original)) == {"engine", "paths", "network"}
    assert run.engine == "cellsim"
    assert run.paths == {"web1": tuple(map(tuple, circuits))}


def test_circuits_over_an_authority_are_not_replayed(original: Path, tmp_path: Path) -> None:
    circuits = [["relay1", "authority1", "relay3"], ["relay4", "relay2", "relay1"]]
    (original / "paths.json").write_text(json.dumps({"web1": circuits}))
    assert replayed(original, tmp_path).paths == {"web1": (("relay4", "relay2", "relay1"),)}


def test_an_original_without_circuits_is_refused(original: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"paths\.json: no such file"):
        replayed(original, tmp_path)
    (original / "paths.json").write_text(json.dumps({"web1": []}))
    with pytest.raises(InputError, match="names no circuit of any client"):
        replayed(original, tmp_path)


def test_an_original_that_is_not_complete_is_not_replayed(original: Path, tmp_path: Path) -> None:
    (original / "paths.json").write_text(json.dumps({"web1": [["relay1", "relay2", "relay3"]]}))
    (original / "provenance.json").unlink()
    with pytest.raises(InputError, match="has no circuits to replay: prepared for shadow, not complete"):
        replayed(original, tmp_path)


def test_a_repeat_needs_only_what_was_asked_for(original: Path, tmp_path: Path) -> None:
    (original / "provenance.json").unlink()
    assert repeated(original, tmp_path).seed == repeat_seed(1)
