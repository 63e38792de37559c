"""Modules are imported where they are needed; which may import which, `make lint` checks (lint-imports)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = (ROOT / "src/torsweep", ROOT / "plotting")

SLOW = {
    "numpy",
    "scipy",
    "polars",
    "matplotlib",
    "pydantic",
    "snakemake",
    "stem",
    "yaml",
    "rich",
    "asyncio",
} | {
    "jinja2",
    "networkx",
    "rocrate",
    "PIL",
    "markdown_it",
}
"""What the command line does not load to print its help."""


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Every module's syntax tree, by its dotted name."""
    found = {}
    for tree in TREES:
        for file in sorted(tree.rglob("*.py")):
            name = ".".join(file.relative_to(tree.parent).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(file.read_text(encoding="utf-8"))
    return found


def test_imports_inside_functions_are_those_of_the_command_line(modules):
    """Only the command line has a start-up time that somebody waits for; it knows the bounds of seeds."""
    inside = {
        name
        for name, tree in modules.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name for name in inside if not name.endswith(".cli")} == {"torsweep.seeds"}


def test_help_loads_nothing_slow():
    program = (
        "import sys\nfrom torsweep.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "torsweep.cli" in loaded
    assert loaded & SLOW == set()
