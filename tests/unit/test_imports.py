"""Modules are imported where they are needed; which may import which, `make lint` checks (lint-imports)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
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
    "PIL",
    "markdown_it",
}
"""What the command line does not load to print its help."""


def test_help_loads_nothing_slow():
    program = (
        "import sys\nfrom torsweep.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "torsweep.cli" in loaded
    assert loaded & SLOW == set()
