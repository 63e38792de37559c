"""The page of figures: what each shows, how to read it, what it needs, and how it looks.

In: the modules of :mod:`plotting`; the thumbnails of :mod:`docs.generate.thumbnails`. Out: the page.
"""

from __future__ import annotations

import importlib

from docs.generate.markdown import prose
from docs.generate.thumbnails import THUMBNAILS
from torsweep.pipeline.figures import OF_COMPARISONS, comparison_figures, figure_names


def figures_page() -> list[str]:
    """Figures of plans, then those of comparisons."""
    intro = (
        "An experiment lists figures of plans by these names; `torsweep results draw compare` draws those of"
        " [a comparison](../compare.md). Each is a PDF, a PNG and its points as CSV. What it needs are"
        " [files of the summary](summaries.md), or of the comparison."
    )
    lines = ["# Figures", "", intro, ""]
    for heading, names in (("Of a plan", figure_names()), ("Of a comparison", comparison_figures())):
        lines += [f"## {heading}", ""]
        for name in names:
            lines += _figure(name)
    return lines


def _figure(name: str) -> list[str]:
    module = importlib.import_module(f"plotting.{name}")
    lines = [f"### {name}", "", f"{module.TITLE}. {prose(module.HOW_TO_READ)}", ""]
    if (THUMBNAILS / f"{name}.png").is_file():
        path = f"../images/{THUMBNAILS.name}/{name}.png"
        lines += [f'<img src="{path}" width="320" alt="{module.TITLE}">', ""]
    needed = module.NEEDS if name.startswith(OF_COMPARISONS) else map(_link, module.NEEDS)
    return [*lines, f"Needs {', '.join(needed)}.", ""]


def _link(statistic: str) -> str:
    return f"[{statistic}](summaries.md#{statistic})"
