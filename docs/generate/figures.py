"""The page of figures: what each shows, how to read it, what it needs, and how it looks.

In: the modules of :mod:`plotting`; the PNG files of ``docs/images``, which carry the title of their figure.
Out: the page.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from PIL import Image

from docs.generate.markdown import prose
from torsweep.config.figures import OF_COMPARISONS, comparison_figures, figure_names

IMAGES = Path(__file__).parents[1] / "images"

LOOKS_LIKE = {"ttlb_cdf": "emulation_ttlb.png", "compare_contrasts": "findings_refill.png"}
"""Images whose files do not say of which figure they are."""


def figures_page() -> list[str]:
    """Figures of plans, then those of comparisons."""
    intro = (
        "An experiment lists figures of plans by these names; `python -m plotting compare` draws those of"
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
    image = LOOKS_LIKE.get(name) or _image_of({name, module.TITLE})
    if image:
        path = f"../images/{image}"
        lines += [f'<img src="{path}" width="320" alt="{module.TITLE}">', ""]
    needed = module.NEEDS if name.startswith(OF_COMPARISONS) else map(_link, module.NEEDS)
    return [*lines, f"Needs {', '.join(needed)}.", ""]


def _link(statistic: str) -> str:
    return f"[{statistic}](summaries.md#{statistic})"


def _image_of(titles: set[str]) -> str | None:
    """The first image that has one of ``titles``."""
    for file in sorted(IMAGES.glob("*.png")):
        with Image.open(file) as image:
            if image.info.get("Title") in titles:
                return file.name
    return None
