"""The way of one download, piece by piece."""

from __future__ import annotations

from plotting.drawing.breakdown import draw_waterfall as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "The way of one download"
HOW_TO_READ = (
    "Each piece of the way to the first byte of one download, the median one of the first network, at the "
    "place where it was spent; time runs to the right."
)
NEEDS = ("breakdown_path", "outcomes")
