"""The documents are true in what a program can check: links lead somewhere, commands exist."""

from __future__ import annotations

import re
import runpy
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


def test_the_navigation_of_the_site_has_every_page():
    site = runpy.run_path(str(ROOT / "docs/conf.py"))
    pages = {file.relative_to(ROOT) for pattern in site["include_patterns"] for file in ROOT.glob(pattern)}
    listed = {Path(f"{page}.md") for _, section in site["sections"]() for page in section}
    below = {page for page in pages if page.match("docs/decisions/[0-9]*.md")}
    assert len(below) > 10
    assert sorted(pages - listed - below) == [Path("README.md")]
    assert listed <= pages


def test_the_tree_names_what_there_is():
    """Each folder and file that it names stands below the folder whose line it is on."""
    _, text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where to change what\n\n")
    named, place, above = [], Path(), Path()
    for line in text[: text.index("\n\n")].splitlines():
        where, what = line[4:30].strip(), line[30:]
        if where:
            above = above if line.startswith(6 * " ") else Path()
            place = above / where.split(", ")[0]
            named += [above / one for one in where.split(", ")]
            if where == "src/torsweep/":
                above = place
        named += [_found(place, one) for one in re.findall(r"[\w./]+(?:\.(?:py|rs|json)|/(?=\W))", what)]
    assert len(named) > 40
    assert [str(path) for path in named if not path.exists()] == []


def _found(place: Path, name: str) -> Path:
    """``name`` as a path from the top, or below ``place`` at any depth."""
    below = (ROOT / place).rglob(name.rstrip("/")) if (ROOT / place).is_dir() else iter(())
    return ROOT / name if (ROOT / name).exists() else next(below, ROOT / place / name)


def test_make_targets_exist(document):
    lines = re.findall(r"^([a-z_-]+(?: [a-z_-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for line in lines for target in line.split()}
    assert {"test", "test-tor"} <= targets
    named = re.findall(r"(?:^ {4}|`)make ([a-z_-]+)", document.read_text(), re.MULTILINE)
    assert set(named) <= set(targets)
