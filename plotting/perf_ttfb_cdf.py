"""The time to the first byte of perf clients' downloads, by size."""

from functools import partial

from plotting.drawing.curves import draw_metric, how_to_read
from plotting.drawing.source import draw_perf

TITLE = "Time to first byte, perf clients"
HOW_TO_READ = how_to_read("first")
NEEDS = ("perf_curves", "perf_outcomes", "outcomes")
draw = partial(draw_perf, draw=partial(draw_metric, metric="ttfb"))
