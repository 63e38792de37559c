"""The series is tried on the sources of a comparison; where one does not take it, none has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.study.conftest import commit, git
from torsweep.study import series
from torsweep.study.series import fitting
from torsweep.study.tors import STOCK, read_tor
from torsweep.tor.release import Series


@pytest.fixture(autouse=True)
def a_series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A series of one patch, which needs ``int interval = 10;`` alone in its file."""
    patch = tmp_path / "0001.patch"
    patch.write_text("--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int interval = 10;\n+int interval = 20;\n")
    monkeypatch.setattr(series, "read_series", lambda: Series((patch,), "a" * 64))


def test_sources_that_take_the_series_have_it(repository: Path) -> None:
    tors = [STOCK, read_tor(f"{repository}@left-here", "--candidate")]
    assert fitting(tors) == (tors, "")


def test_one_source_that_does_not_take_it_is_enough(repository: Path) -> None:
    found, note = fitting([STOCK, read_tor(f"{repository}@my-branch", "--candidate")])
    assert [(tor.name, tor.entry["series"]) for tor in found] == [("plain", "none"), ("my_branch", "none")]
    commit_id = git(repository, "rev-parse", "my-branch")[:12]
    assert note.startswith(
        f"the project's series is left out of both, as it does not apply to my-branch ({commit_id}): "
    )
    assert "kist.c: Hunk #1 FAILED at 1" in note and "\n" not in note


def test_what_is_not_committed_is_not_tried(repository: Path) -> None:
    git(repository, "checkout", "-q", "my-branch")
    commit(repository, "int interval = 10;\n")
    (repository / "kist.c").write_text("int other;\n")
    assert fitting([read_tor(f"{repository}@my-branch", "--candidate")])[1] == ""
