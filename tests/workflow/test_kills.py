"""A pipeline that is killed at random moments leaves what others do. `make kills` does fifty."""

from __future__ import annotations

from pathlib import Path

from tests.workflow.kills import run


def test_two_kills(tmp_path: Path) -> None:
    said: list[str] = []
    assert run(tmp_path, 2, 7, said.append), "\n".join(said)
    assert "2 kills" in said[-1]
