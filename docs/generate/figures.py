"""The page of figures: what each shows, how to read it, what it needs, and how it looks.

In: the modules of :mod:`plotting`; the thumbnails of :mod:`docs.generate.thumbnails`. Out: the page.
"""

from __future__ import annotations

from docs.generate.markdown import prose
from docs.generate.thumbnails import THUMBNAILS
from torsweep.pipeline.figures import figure_files, find_figure


def figures_page() -> list[str]:
    """Every figure."""
    intro = (
        "An experiment lists figures by these names; `contrasts` is drawn where"
        " [engines stand side by side](../compare.md). Each is a PDF, a PNG and its points as CSV. What it"
        " needs are [files of the summary](summaries.md)."
    )
    lines = ["# Figures", "", intro, ""]
    for name in figure_files():
        lines += _figure(name)
    return lines


def _figure(name: str) -> list[str]:
    module = find_figure(name)
    lines = [f"## {name}", "", f"{module.TITLE}. {prose(module.HOW_TO_READ)}", ""]
    if (THUMBNAILS / f"{name}.png").is_file():
        path = f"../images/{THUMBNAILS.name}/{name}.png"
        lines += [f'<img src="{path}" width="320" alt="{module.TITLE}">', ""]
    return [*lines, f"Needs {', '.join(map(_link, module.NEEDS))}.", ""]


def _link(statistic: str) -> str:
    return f"[{statistic}](summaries.md#{statistic})"
