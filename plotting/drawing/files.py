"""How a figure becomes files.

In: the name of a figure, and the folder of a plan's summaries. Out: PDF, PNG and CSV.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from plotting.drawing.source import Source
from plotting.drawing.style import GREY, SMALL_PT, save, style


def draw_plan(name: str, summaries: Path, out: Path, *, captions: bool = True) -> None:
    """Draw the figure ``name`` of a plan: ``out``.pdf, .png and .csv.

    Without ``captions`` below them, panels say over how many networks they are.
    """
    drawn, source = importlib.import_module(f"plotting.{name}"), Source(summaries)
    with style(captions=captions):
        figure, points, caption = drawn.draw(source)
        for panel in figure.axes if not captions else ():
            if panel.has_data():
                said = f"n = {len(source.provenance.seeds)}"
                panel.set_title(said, loc="right", size=SMALL_PT, color=GREY)
        save(figure, points, caption, source.origin(), out, drawn.TITLE, drawn.HOW_TO_READ)
