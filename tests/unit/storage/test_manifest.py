"""A folder is read only while every file that its manifest names is as it was made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.storage import verify_folder, with_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "b.csv").write_text("2\n")
    document = with_checksums({"what": "a summary"}, tmp_path, ["a.csv", "b.csv"])
    (tmp_path / "plan.json").write_text(json.dumps(document))
    return tmp_path


def test_a_whole_folder_says_what_its_manifest_says(folder: Path) -> None:
    assert verify_folder(folder, "plan.json") == {"what": "a summary"}
    (folder / "beside").write_text("a file that the manifest does not name")
    assert verify_folder(folder, "plan.json")


def _refused(folder: Path) -> str:
    with pytest.raises(InputError) as refused:
        verify_folder(folder, "plan.json")
    return str(refused.value)


def test_a_file_that_is_missing_or_has_changed_is_named_with_the_folder_to_remove(folder: Path) -> None:
    (folder / "b.csv").write_text("3\n")
    assert _refused(folder).startswith(f"{folder / 'b.csv'}: has changed: its SHA-256 is not the one in plan")
    (folder / "b.csv").unlink()
    said = _refused(folder)
    assert said.startswith(f"{folder / 'b.csv'}: is missing")
    assert said.endswith(f"remove {folder} to have it made again")


def test_a_folder_without_a_manifest_is_not_finished(folder: Path) -> None:
    (folder / "plan.json").write_text("{}")
    assert "plan.json: tables: has no checksums" in _refused(folder)
    (folder / "plan.json").unlink()
    assert "is not finished" in _refused(folder)
