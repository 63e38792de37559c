"""The time to the last byte of perf clients' downloads, by size."""

from functools import partial

from plotting.drawing.curves import draw_metric, how_to_read
from plotting.drawing.source import draw_perf

TITLE = "Time to last byte, perf clients"
HOW_TO_READ = how_to_read("last")
NEEDS = ("perf_curves", "perf_outcomes", "outcomes")
draw = partial(draw_perf, draw=partial(draw_metric, metric="ttlb"))
