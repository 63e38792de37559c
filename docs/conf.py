"""The documentation as a site, which `make site` builds with Sphinx from the Markdown files where they are.

In: the pages of the repository; Sphinx's source folder is its top. Out: HTML that needs no network. The
navigation is that of ``docs/README.md``, the experiments, and the pages about the project.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

project = "torsweep"
html_title = "torsweep"
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "experiments/*/README.md",
    "experiments/*/reference.md",
    "patches/*/README.md",
    "topologies/*.md",
]
exclude_patterns = [".*", "results", "target", "site", "torsweep-studies"]

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
highlight_language = "text"
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_scaled_image_link = True
html_show_copyright = False
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False

_LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def sections() -> Iterator[tuple[str, list[str]]]:
    """The headings of the navigation, with the pages below each."""
    yield "", ["docs/README"]
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for part in re.split(r"\n(?=\*\*|## )", text)[1:]:
        heading = part.splitlines()[0].strip("*# ")
        yield heading, [_page(ROOT / "docs" / link) for link in _LINK.findall(part)]
    yield "Experiments", [_page(file) for file in sorted((ROOT / "experiments").glob("*/[Rr]*.md"))]
    patches = sorted((ROOT / "patches").glob("*/README.md"))
    yield "The project", ["CONTRIBUTING", "CHANGELOG", *map(_page, patches)]


def _page(file: Path) -> str:
    return file.resolve().relative_to(ROOT).with_suffix("").as_posix()


def _navigation(heading: str, pages: list[str]) -> str:
    listed = "\n".join(f"/{page}" for page in dict.fromkeys(pages))
    caption = f":caption: {heading}\n" if heading else ""
    return f"\n\n```{{toctree}}\n:hidden:\n{caption}\n{listed}\n```\n"


def add_navigation(app: Any, page: str, source: list[str]) -> None:
    """Give the first page the navigation, and the list of decisions its pages."""
    if page == root_doc:
        source[0] += "".join(_navigation(*section) for section in sections())
    elif page == "docs/decisions/README":
        records = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
        source[0] += _navigation("Decisions", [_page(file) for file in records])


def add_index(app: Any, exception: Exception | None) -> None:
    """The first page is what a server shows of the folder, too."""
    if exception is None:
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Any) -> None:
    """Connect the two."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_index)
