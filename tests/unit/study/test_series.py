"""The series is tried on the sources of a comparison; where one does not take it, none has it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.unit.study.conftest import commit, git
from torsweep.errors import InputError
from torsweep.study import named_tor
from torsweep.study.named_tor import DEBIANS_TOR, fitting, patched, read_tor
from torsweep.tor import DOWNLOADS
from torsweep.tor.release import PACKAGE
from torsweep.tor.series import Series


@pytest.fixture(autouse=True)
def a_series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A series of one patch, which needs ``int interval = 10;`` alone in its file."""
    patch = tmp_path / "0001.patch"
    patch.write_text("--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int interval = 10;\n+int interval = 20;\n")
    monkeypatch.setattr(named_tor, "read_series", lambda: Series((patch,), "a" * 64))


def test_sources_that_take_the_series_have_it(repository):
    tors = [DEBIANS_TOR, read_tor(f"{repository}@left-here", "--candidate")]
    assert fitting(tors) == (tors, "")


def test_one_source_that_does_not_take_it_is_enough(repository):
    found, note = fitting([DEBIANS_TOR, read_tor(f"{repository}@my-branch", "--candidate")])
    assert [(tor.name, tor.entry["series"]) for tor in found] == [("plain", "none"), ("my_branch", "none")]
    commit_id = git(repository, "rev-parse", "my-branch")[:12]
    assert note.startswith(f"both are built without the project's patches: my-branch ({commit_id}): ")
    assert "kist.c: Hunk #1 FAILED at 1" in note and "\n" not in note


def test_what_is_not_committed_is_not_tried(repository):
    git(repository, "checkout", "-q", "my-branch")
    commit(repository, "int interval = 10;\n")
    (repository / "kist.c").write_text("int other;\n")
    assert fitting([read_tor(f"{repository}@my-branch", "--candidate")])[1] == ""


def test_a_tor_of_another_release_series_goes_without(repository):
    (repository / "configure.ac").write_text("AC_INIT([tor],[0.4.7.16])\n")
    git(repository, "commit", "-q", "-a", "-m", "older")
    found, note = fitting([DEBIANS_TOR, read_tor(f"{repository}@main", "--candidate")])
    assert all(tor.entry["series"] == "none" for tor in found)
    assert "they are for tor 0.4.9, and main (" in note and note.endswith(") is 0.4.7.16")


def test_a_patch_that_does_not_apply_names_file_and_hunk(repository, patch):
    base = read_tor(f"{repository}@left-here", "--baseline")
    with pytest.raises(InputError) as refused:
        fitting([base, patched(patch, base)])
    assert str(refused.value) == f"{patch}: does not apply: kist.c: Hunk #1 FAILED at 1"
    applies = patch.read_text().replace("int a;", "int interval = 20;")
    # git writes i/ and w/ where it is told so, and diff the names of two folders.
    for text in (
        applies,
        applies.replace("a/kist.c", "tor.old/kist.c").replace("b/kist.c", "tor.new/kist.c"),
    ):
        patch.write_text(text)
        assert fitting([base, patched(patch, base)])[1] == "", "it goes on top of the series"


def test_a_patch_is_tried_on_debians_source_where_it_has_been_fetched(patch, tmp_path, monkeypatch):
    on_top = patched(patch, DEBIANS_TOR)
    monkeypatch.chdir(tmp_path)
    assert fitting([DEBIANS_TOR, on_top]) == ([DEBIANS_TOR, on_top], ""), "the build will say it"
    tree = tmp_path / "tor-0.4.9.11"
    tree.mkdir()
    (tree / "configure").write_text("PACKAGE_NAME='tor'\nPACKAGE_VERSION='0.4.9.11'\n")
    (tree / "kist.c").write_text("int interval = 10;\n")
    package = DOWNLOADS / PACKAGE
    package.mkdir(parents=True)
    with tarfile.open(package / "tor_0.4.9.11.orig.tar.gz", "w:gz") as archive:
        archive.add(tree, arcname=tree.name)
    with pytest.raises(InputError, match=r"does not apply: kist\.c: Hunk #1 FAILED at 1"):
        fitting([DEBIANS_TOR, on_top])
