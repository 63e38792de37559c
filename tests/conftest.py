"""What every test can count on, which tests are skipped by name when a tool is not here, and the order."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

from tests.published_plan import PublishedPlan, write_plan

PACKAGES = Path(__file__).parents[1] / "setup" / "debian_packages.txt"
PACKAGED_MARKS = ("chromium", "slurm")
"""Marks of tests whose programs are Debian's: the package list names them under the same word."""
SEARCHED = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
LONGEST_FIRST = ("tests/workflow", "tests/engines", "tests/fuzz")
"""Folders of long tests: processes that share the tests begin with these, and end at about the same time."""

# A shared or slow machine must not turn a passing property into a failing one.
settings.register_profile("torsweep", deadline=None, print_blob=True)
settings.load_profile("torsweep")


def _missing_tools() -> dict[str, str]:
    """For each mark whose programs are not all here: what is missing."""
    rows = [line.split() for line in PACKAGES.read_text().splitlines() if not line.startswith("#")]
    missing = {}
    for mark in PACKAGED_MARKS:
        packages = [name for name, program, use in rows if use == mark and not _is_on_path(program)]
        if packages:
            missing[mark] = f"apt-get install {' '.join(packages)}"
    if not _is_on_path("shadow"):
        missing["shadow"] = "`shadow` is not on PATH"
    return missing


def _is_on_path(program: str) -> bool:
    return shutil.which(program, path=SEARCHED) is not None


def _place(item: pytest.Item) -> int:
    folder = next((place for place, name in enumerate(LONGEST_FIRST) if item.nodeid.startswith(name)), None)
    return len(LONGEST_FIRST) if folder is None else folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = _missing_tools()
    for item in items:
        for mark, what in missing.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"{item.name} needs {mark}: {what}"))
    items.sort(key=_place)


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> PublishedPlan:
    """A small plan, made once; tests that damage it copy it first."""
    return write_plan(tmp_path_factory.mktemp("plan") / "plan")
