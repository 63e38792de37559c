"""The documents are true in what a program can check: links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for folder in (".", "docs", "experiments", "topologies", "patches", "bench", "cellsim")
    for path in (ROOT / folder).glob("*.md" if folder in (".", "cellsim") else "**/*.md")
    if "node_modules" not in path.parts
)


@pytest.fixture(params=DOCUMENTS, ids=str)
def document(request) -> Path:
    return ROOT / request.param


def test_relative_links_lead_to_files(document):
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (document.parent / link).exists()] == []


def test_make_targets_exist(document):
    lines = re.findall(r"^([a-z_-]+(?: [a-z_-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for line in lines for target in line.split()}
    assert {"test", "test-tor"} <= targets
    named = re.findall(r"(?:^ {4}|`)make ([a-z_-]+)", document.read_text(), re.MULTILINE)
    assert set(named) <= set(targets)
