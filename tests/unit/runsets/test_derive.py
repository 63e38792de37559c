"""A repeat is the same run with another seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.several_sources import SLOW, MakeRun
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.runsets.run import repeat_run
from torsweep.seeds import MOST_SEED, repeat_seed


@pytest.fixture
def original(make_run: MakeRun) -> Path:
    directory = make_run("shadow", SLOW, 1)
    network = directory / read_run(directory).network
    network.mkdir(parents=True, exist_ok=True)
    (network / "network.json").write_text("{}")
    return directory


def test_a_repeat_differs_in_its_seed_alone(original: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "repeat"
    run, first = repeat_run(original, out), read_run(original)
    assert {key for key in RunSpec.model_fields if getattr(run, key) != getattr(first, key)} == {
        "seed",
        "network",
    }
    assert run.seed == repeat_seed(1) != 1
    assert (out / run.network / "network.json").samefile(original / first.network / "network.json")
    assert read_run(out) == run


def test_a_repeat_of_the_largest_seed_is_a_seed() -> None:
    assert 0 <= repeat_seed(MOST_SEED) <= MOST_SEED


def test_a_repeat_needs_only_what_was_asked_for(original: Path, tmp_path: Path) -> None:
    (original / "provenance.json").unlink()
    assert repeat_run(original, tmp_path / "repeat").seed == repeat_seed(1)
