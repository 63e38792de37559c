"""Damaged documents of every format: 50 of each, always the same; with FUZZ_EXAMPLES, others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.cases import FORMATS, check, examples, targets_of
from tests.fuzz.properties import Outcome, require_sound

MORE_EXAMPLES = "FUZZ_EXAMPLES"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents stand."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", FORMATS)
def test_the_whole_documents_are_accepted(folder: Path, name: str) -> None:
    for target in targets_of(name):
        outcome = check(folder, name, (target, []))
        assert outcome.code == 0, f"{target.name}: {outcome.error}"


@pytest.mark.parametrize("name", FORMATS)
def test_no_damage_breaks_a_command(folder: Path, name: str) -> None:
    @settings(
        max_examples=int(os.environ.get(MORE_EXAMPLES, 50)),
        derandomize=MORE_EXAMPLES not in os.environ,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(example=examples(name))
    def damage(example) -> None:  # type: ignore[no-untyped-def]
        check(folder, name, example)

    damage()


@pytest.mark.parametrize(
    "outcome",
    [(1, "torsweep: no"), (101, "panicked at"), (2, "one\ntwo"), (2, ""), (0, "Traceback (most"), (-6, "")],
)
def test_what_is_not_sound_is_found(outcome: tuple[int, str]) -> None:
    with pytest.raises(AssertionError):
        require_sound(Outcome(*outcome))
