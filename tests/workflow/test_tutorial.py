"""The tutorial, command by command as it is written; it builds tor and runs it under Shadow."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
VERDICTS = r"shown|no difference|no effect|not shown"


def _commands() -> list[str]:
    """The commands whose output it shows."""
    return re.findall(r"^    \$ (torsweep .*)$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_tutorial_plans_asks_and_adds_networks() -> None:
    plan, answer, more = _commands()
    assert plan == f"{answer} --dry-run"
    assert more == answer.replace("--networks 3", "--networks 6")


@pytest.mark.shadow
def test_the_tutorial_ends_with_a_verdict(tmp_path: Path) -> None:
    said = ""
    for command in _commands():
        answer = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        said = answer.stdout + answer.stderr
    assert re.search(rf"web, first byte .* (?:{VERDICTS})", said)
    page = re.search(r"^page: (.*)$", said, re.MULTILINE)
    assert page and (tmp_path / page[1]).is_file()
