"""The page of figures: what each shows, how to read it, what it needs, and how it looks.

In: the modules of :mod:`plotting`; the thumbnails of :mod:`docs.generate.thumbnails`. Out: the page.
"""

from __future__ import annotations

from typing import Any

from docs.generate.markdown import prose
from docs.generate.thumbnails import THUMBNAILS
from torsweep.pipeline.figures import figures


def figures_page() -> list[str]:
    """Every figure."""
    intro = (
        "An experiment lists figures by these names. Each is a PDF, a PNG and its points as CSV. What it"
        " needs are [files of the summary](summaries.md)."
    )
    lines = ["# Figures", "", intro, ""]
    for figure in figures().values():
        lines += figure_lines(figure, "summaries.md")
    return lines


def figure_lines(figure: Any, summaries: str) -> list[str]:
    """One figure of a page, with links to the page ``summaries`` of what it needs."""
    lines = [f"## {figure.name}", "", f"{figure.title}. {prose(figure.how_to_read)}", ""]
    if (THUMBNAILS / f"{figure.name}.png").is_file():
        path = f"{'..' if summaries else '../../docs'}/images/{THUMBNAILS.name}/{figure.name}.png"
        lines += [f'<img src="{path}" width="320" alt="{figure.title}">', ""]
    needs = (f"[{name}]({summaries}#{name})" if summaries else f"`{name}.csv`" for name in figure.needs)
    return [*lines, f"Needs {', '.join(needs)}.", ""]
