"""Paired differences of perf clients' medians, by size, against the baseline, as a forest plot."""

from functools import partial

from plotting.drawing.forest import draw_differences, how_to_read
from plotting.drawing.source import draw_perf

TITLE = "Differences from the baseline, perf clients"
HOW_TO_READ = how_to_read()
NEEDS = ("perf_differences", "perf_outcomes", "outcomes")
draw = partial(draw_perf, draw=draw_differences)
