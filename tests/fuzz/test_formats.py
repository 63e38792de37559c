"""Damaged documents of every format: 100 of each, the same ones every time. `make fuzz` tries more."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import properties
from tests.fuzz.cases import FORMATS, check, examples, targets_of
from tests.fuzz.flips import flip_folder, flip_zip, found, small_bundle
from tests.fuzz.mutations import BYTE_KINDS, DOCUMENT_KINDS, MOST_DOCUMENT_BYTES, Damage, damaged, damages
from tests.fuzz.properties import MOST_BYTES, Outcome, require_sound, run_inside
from tests.fuzz.zips import ZIP_KINDS, damaged_zip
from torsweep.storage.folders import MARKER

EXAMPLES = 100
FEWER_EXAMPLES = {"bundle": 30}
"""Of formats whose command computes for long: a bundle that is accepted has its claims judged again."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents stand."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", FORMATS)
def test_the_whole_documents_are_accepted(folder: Path, name: str) -> None:
    for target in targets_of(name):
        outcome = check(folder, name, (target, []))
        assert outcome.code == 0, f"{target.name}: {outcome.said}"


@pytest.mark.parametrize("name", FORMATS)
def test_no_damage_breaks_a_command(folder: Path, name: str) -> None:
    @settings(
        max_examples=FEWER_EXAMPLES.get(name, EXAMPLES),
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(example=examples(name))
    def damage(example) -> None:  # type: ignore[no-untyped-def]
        check(folder, name, example)

    damage()


@given(content=st.binary(max_size=5000), changes=damages(BYTE_KINDS))
def test_no_damage_makes_a_document_of_gigabytes(content: bytes, changes: list[Damage]) -> None:
    assert len(damaged(content, changes)) <= 2**4 * (len(content) + 20_000)


@given(changes=damages(DOCUMENT_KINDS))
def test_no_damage_of_a_tree_makes_a_document_of_gigabytes(changes: list[Damage]) -> None:
    document = {"hosts": [{"name": f"relay{number}"} for number in range(50)]}
    assert len(damaged(json.dumps(document).encode(), changes)) <= MOST_DOCUMENT_BYTES


def test_a_command_that_takes_too_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)

    def take(_arguments: list[str]) -> None:
        sys.exit(0 if bytearray(3 * MOST_BYTES) else 1)

    monkeypatch.setattr(properties, "main", take)
    with pytest.raises(MemoryError):
        run_inside([])
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "torsweep: no"),
        (101, "thread 'main' panicked at"),
        (2, "one\ntwo"),
        (2, ""),
        (0, "Traceback (most recent call last):"),
        (-6, ""),
    ],
)
def test_what_is_not_sound_is_found(code: int, said: str) -> None:
    with pytest.raises(AssertionError):
        require_sound(Outcome(code, said))


def test_every_changed_byte_of_a_small_bundle_is_found(tmp_path: Path) -> None:
    folder, zip_file = small_bundle(tmp_path)
    assert not found(folder) and not found(zip_file)
    size = zip_file.stat().st_size
    each_byte_once = flip_zip(zip_file, range(3, 8 * size, 8), "zip")
    assert (each_byte_once.changed, each_byte_once.missed) == (size, ())
    every_bit = flip_folder(folder, "folder")
    assert (every_bit.changed, every_bit.missed) == (8 * every_bit.size, ())
    assert not found(folder)


def test_a_bit_that_is_not_found_is_told(tmp_path: Path) -> None:
    folder, _ = small_bundle(tmp_path)
    (folder / MARKER).write_text("{}")
    # The marker of a folder is no part of what was published.
    assert flip_folder(folder, "folder").missed == tuple(range(16))


@pytest.mark.parametrize("kind", ZIP_KINDS)
def test_a_zip_with_other_files_is_found(tmp_path: Path, kind: str) -> None:
    _, zip_file = small_bundle(tmp_path)
    whole = zip_file.read_bytes()
    for choice in range(25):
        zip_file.write_bytes(damaged_zip(whole, kind, choice / 25, choice))
        assert found(zip_file) or zip_file.read_bytes() == whole
    assert zip_file.read_bytes() != whole
