"""What every test can count on, and which tests are skipped by name when a tool is not here."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import settings

TOOLS = ("shadow",)
"""Marks that are also names of programs: a test so marked needs the program on PATH."""

# A shared or slow machine must not turn a passing property into a failing one.
settings.register_profile("torsweep", deadline=None, print_blob=True)
settings.load_profile("torsweep")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for tool in TOOLS:
            if item.get_closest_marker(tool) and shutil.which(tool) is None:
                item.add_marker(pytest.mark.skip(reason=f"{item.name} needs {tool}, which is not on PATH"))
