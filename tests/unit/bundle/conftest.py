"""A small plan and what is published of it, made once; tests that damage either copy it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.published_plan import PublishedPlan


@pytest.fixture(scope="session")
def plan(plan: PublishedPlan) -> PublishedPlan:
    """The plan with its page."""
    plan.report()
    return plan


@pytest.fixture(scope="session")
def published(plan: PublishedPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "main"
    plan.publish(folder)
    return folder
