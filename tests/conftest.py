"""What every test can count on, and which tests are skipped by name when a tool is not here."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import settings

TOOLS = {
    "shadow": ("shadow",),
    "chromium": ("chromium", "chromedriver"),
    "slurm": ("sbatch", "slurmctld", "slurmd", "munged"),
}
"""The programs that a test with a mark needs on PATH, or where Debian has daemons."""

SEARCHED = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))

# A shared or slow machine must not turn a passing property into a failing one.
settings.register_profile("torsweep", deadline=None, print_blob=True)
settings.load_profile("torsweep")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark, programs in TOOLS.items():
            missing = [program for program in programs if shutil.which(program, path=SEARCHED) is None]
            if item.get_closest_marker(mark) and missing:
                reason = f"{item.name} needs {missing[0]}, which is not on PATH"
                item.add_marker(pytest.mark.skip(reason=reason))
