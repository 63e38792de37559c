"""A small plan and what is published of it, made once; tests that damage either copy it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.published_plan import PublishedPlan
from torsweep.cli import main


def run(*arguments: object) -> None:
    """Run the command line, which has to succeed."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 0


@pytest.fixture(scope="session")
def plan(plan: PublishedPlan) -> PublishedPlan:
    """The plan with its page."""
    run(*plan.report())
    return plan


@pytest.fixture(scope="session")
def published(plan: PublishedPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "main"
    run(*plan.publish(folder))
    return folder


@pytest.fixture(scope="session")
def bundle(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("zip") / "refill_sweep.zip"
    run("run", "bundle", published, "--out", file)
    return file
