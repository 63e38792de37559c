"""Runs of several sources in the working directory."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.several_sources import MakeRun, leave_run


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """:func:`~tests.several_sources.leave_run` in the working directory."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(leave_run, tmp_path)
