"""The tutorial's commands plan what it says; their runs in real time take a quarter of an hour."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def _plan(command: str, folder: Path) -> str:
    """The plan of ``command`` without what depends on the machine."""
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return "\n".join(line for line in lines if not line.startswith(("builds", "missing", "engine", "time")))


def test_the_tutorial_plans_what_it_says(tmp_path: Path) -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    plan, answer, other = re.findall(r"^    \$ (torsweep .*)$", text, re.MULTILINE)
    assert plan == f"{answer} --dry-run"
    shown = "\n".join(line.removeprefix("    ") for line in text.splitlines())
    for line in _plan(f"{plan} --engine emulation", tmp_path).splitlines():
        assert line in shown
    assert "runs      8 (2 on each of 4 networks)" in _plan(f"{other} --engine emulation --dry-run", tmp_path)
