"""A change in what a run of an engine goes through changes the engine's key; a change elsewhere does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from torsweep.engines import sources


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, which the test may change."""
    original = sources.ROOM.parent
    copy = Path(
        shutil.copytree(original, tmp_path / "torsweep", ignore=shutil.ignore_patterns("__pycache__"))
    )
    monkeypatch.setattr(sources, "ROOM", copy / "engines")
    monkeypatch.setattr(sources, "TORRC_MODULE", copy / "tor" / "torrc.py")
    return copy


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("engines/shadow/traffic.py", {"shadow"}),
        ("engines/emulation/run/traffic.py", {"emulation"}),
        ("engines/draws.py", {"shadow", "emulation"}),
        ("tor/torrc.py", {"shadow", "emulation"}),
        ("tor/templates/client.torrc", {"shadow", "emulation"}),
        ("engines/shadow/entry.py", set()),
        ("engines/selection.py", set()),
        ("report/page.py", set()),
    ],
)
def test_a_change_counts_for_the_engines_that_go_through_it(package, file, changed):
    engines = ("cellsim", "shadow", "emulation")
    before = {engine: sources.sources_key(engine) for engine in engines}
    with (package / file).open("a") as text:
        text.write("# changed\n")
    assert {engine for engine in engines if sources.sources_key(engine) != before[engine]} == changed
