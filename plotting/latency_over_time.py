"""What the first byte waits for, over time."""

from __future__ import annotations

from plotting.drawing.breakdown import draw_over_time as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "Where the first byte waits, over time"
HOW_TO_READ = (
    "The same for downloads opened within ten seconds of each other, on the first network: a part that comes "
    "in bursts shows as peaks of its colour."
)
NEEDS = ("breakdown_time", "outcomes")
