"""In which stage cells spend their time in a relay."""

from __future__ import annotations

from plotting.drawing.cells import draw_stages as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "In which stage cells spend their time"
HOW_TO_READ = (
    "The mean time of cells of busy and of quiet circuits in a relay, by stage: read and encrypted, in the "
    "queue of the circuit, in the output buffer. Scales differ between panels."
)
NEEDS = ("cell_times", "cell_load", "outcomes")
