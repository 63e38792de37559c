"""How a figure becomes files.

In: the name of a figure, and the folder of a plan's summaries or of a comparison. Out: PDF, PNG and CSV.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from plotting.drawing.compared import ComparedSources
from plotting.drawing.source import Source
from plotting.drawing.style import save, style


def draw_plan(name: str, summaries: Path, out: Path) -> None:
    """Draw the figure ``name`` of a plan: ``out``.pdf, .png and .csv."""
    _draw(name, Source(summaries), out)


def draw_comparison(name: str, comparison: Path, out: Path) -> None:
    """Draw the figure ``name`` of a comparison: ``out``.pdf, .png and .csv."""
    _draw(name, ComparedSources(comparison), out)


def _draw(name: str, source: Source | ComparedSources, out: Path) -> None:
    drawn = importlib.import_module(f"plotting.{name}")
    with style():
        figure, points, caption = drawn.draw(source)
        save(figure, points, caption, source.origin(), out, drawn.TITLE, drawn.HOW_TO_READ)
