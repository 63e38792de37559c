"""How a figure becomes files.

In: the name of a figure, and the folder of a plan's summaries. Out: PDF, PNG and CSV, and the
caption as text.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from plotting.drawing.palette import named
from plotting.drawing.source import Source
from plotting.drawing.style import save, style


def draw_plan(name: str, summaries: Path, out: Path, *, captions: bool = False) -> None:
    """Draw the figure ``name`` of a plan: ``out``.pdf, .png, .csv and, with its caption, .txt.

    Without ``captions`` below them, figures say what made them, and on how many networks.
    """
    drawn, source = importlib.import_module(f"plotting.{name}"), Source(summaries)
    with style(None if captions else source.made_by()), named(source.names()):
        figure, points, caption = drawn.draw(source)
        save(figure, points, caption, source.origin(), out, drawn.TITLE, drawn.HOW_TO_READ)
