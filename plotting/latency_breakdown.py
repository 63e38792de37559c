"""What the first byte waits for under each variant."""

from __future__ import annotations

from plotting.drawing.breakdown import draw_means as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "Where the first byte waits"
HOW_TO_READ = (
    "The mean time to the first byte of followed downloads, by what they waited for at each moment. The "
    "parts of a download add up to its time exactly. Time in a queue counts for the queue, whatever made the "
    "queue long."
)
NEEDS = ("breakdown_groups", "outcomes")
