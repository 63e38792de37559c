"""What the first byte waits for in fast and in slow downloads."""

from __future__ import annotations

from plotting.drawing.breakdown import draw_percentiles as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "Where fast and slow downloads wait"
HOW_TO_READ = (
    "The same for downloads between two percentiles of the time to the first byte: the parts that grow from "
    "left to right make slow downloads slow. The number above a bar is the mean in seconds."
)
NEEDS = ("breakdown_groups", "outcomes")
