"""A pipeline that is killed at random moments leaves what others do. `make kills` does fifty."""

from __future__ import annotations

from pathlib import Path

from tests.workflow.kills import run


def test_a_handful_of_kills(tmp_path: Path) -> None:
    said: list[str] = []
    assert run(tmp_path, 3, 7, said.append), "\n".join(said)
    assert "3 kills" in said[-1]
