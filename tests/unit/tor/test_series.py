"""The series: well formed, applied strictly, and clear about what does not apply."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from torsweep.errors import InputError
from torsweep.tor.series import apply_series, first_failure, patches_of_user, read_series

ROOT = Path(__file__).parents[3]
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not on PATH")


def test_the_hash_changes_with_the_patches_and_nothing_else(series_folder):
    before = read_series(series_folder)
    (series_folder / "README.md").write_text("words")
    (series_folder / "series").write_text("clock.patch # the only one\n")
    assert read_series(series_folder).sha256 == before.sha256
    (series_folder / "clock.patch").write_text(before.patches[0].read_text() + "\n")
    assert read_series(series_folder).sha256 != before.sha256


@pytest.mark.parametrize(
    ("listing", "problem"),
    [
        ("clock.patch\nother.patch\n", "names a patch that is not there, got 'other.patch'"),
        ("clock.patch\nclock.patch\n", "names a patch twice, got 'clock.patch'"),
        ("# none\n", "leaves out a patch of the folder, got 'clock.patch'"),
    ],
)
def test_a_series_that_disagrees_with_its_folder_is_refused(series_folder, listing, problem):
    (series_folder / "series").write_text(listing)
    with pytest.raises(InputError, match=re.escape(f"{series_folder / 'series'}: {problem}")):
        read_series(series_folder)
    (series_folder / "series").unlink()
    with pytest.raises(InputError, match="no such file"):
        read_series(series_folder)


@needs_patch
def test_a_patch_applies_also_some_lines_further_down(tree, series_folder):
    clock = tree / "src" / "clock.c"
    clock.write_text("zero\n" + clock.read_text())
    apply_series(read_series(series_folder), tree)
    assert clock.read_text() == "zero\none\ntwo\nthree\nfour\n5\nsix\nseven\neight\n"
    assert sorted(file.name for file in (tree / "src").iterdir()) == ["clock.c"]


@needs_patch
def test_context_that_differs_stops_with_patch_file_and_hunk(tree, series_folder):
    clock = tree / "src" / "clock.c"
    text = clock.read_text().replace("two", "2")
    clock.write_text(text)
    with pytest.raises(InputError) as raised:
        apply_series(read_series(series_folder), tree)
    assert str(raised.value) == (
        f"{series_folder / 'clock.patch'}: does not apply: src/clock.c: Hunk #1 FAILED at 2"
    )
    assert raised.value.exit_code == 2
    assert clock.read_text() == text
    assert sorted(file.name for file in (tree / "src").iterdir()) == ["clock.c"]


@needs_patch
def test_a_patch_that_is_in_already_and_a_file_that_is_not_there_are_named(tree, series_folder):
    series = read_series(series_folder)
    apply_series(series, tree)
    with pytest.raises(InputError, match=r"src/clock\.c: .*previously applied"):
        apply_series(series, tree)
    (tree / "src" / "clock.c").unlink()
    with pytest.raises(InputError, match="can't find file to patch"):
        apply_series(series, tree)


def test_an_unknown_complaint_is_passed_on():
    assert first_failure("patching file 'a b.c'\npatch: **** malformed patch at line 4: x\n") == (
        "a b.c",
        "patch: **** malformed patch at line 4: x",
    )
    assert first_failure("") == ("", "patch said nothing")


@pytest.mark.parametrize("text", ["", "Count differently\n\n--- a/src/clock.c\n+++ b/src/clock.c\n"])
def test_a_patch_without_a_change_is_refused(tmp_path, text):
    (tmp_path / "empty.patch").write_text(text)
    with pytest.raises(InputError, match=r"empty\.patch: changes nothing"):
        patches_of_user([tmp_path / "empty.patch"])
