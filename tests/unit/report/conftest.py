"""A small plan, made once; tests that damage it copy it first."""

from __future__ import annotations

import pytest

from tests.published_plan import Plan, write_plan


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return write_plan(tmp_path_factory.mktemp("page") / "plan")
