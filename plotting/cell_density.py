"""How long cells stay in relays, over time."""

from __future__ import annotations

from plotting.drawing.cells import draw_density as draw

__all__ = ["HOW_TO_READ", "NEEDS", "TITLE", "draw"]

TITLE = "How long cells stay in a relay"
HOW_TO_READ = (
    "Every RELAY cell that a traced relay sent on, by the second in which it came and the time until the "
    "kernel had it, on a logarithmic scale: darker is more cells. The line is the median."
)
NEEDS = ("cell_density", "cell_times", "cell_runs", "cell_load", "outcomes")
