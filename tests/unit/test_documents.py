"""The documents are true in what a program can check: links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.markdown import prose, slug

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


def test_anchors_of_links_are_headings(document):
    for link, anchor in re.findall(r"\]\(([^)#\s:]*\.md)?#([^)\s]+)\)", document.read_text()):
        text = (document.parent / link if link else document).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        plain = [slug(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", prose(heading))) for heading in headings]
        assert anchor in plain, f"{link}#{anchor}"


@pytest.mark.parametrize(
    "readme", sorted((ROOT / "experiments").glob("*/README.md")), ids=lambda file: file.parent.name
)
def test_the_readme_of_an_experiment_is_short(readme):
    text = re.sub(r"<!-- table:.*?<!-- end -->", "", readme.read_text(), flags=re.DOTALL)
    told = [line for line in text.splitlines() if not line.startswith(("    ", "|"))]
    assert len(" ".join(told).split()) <= 1_000
