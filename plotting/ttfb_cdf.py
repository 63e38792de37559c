"""The time to the first byte of all downloads."""

from functools import partial

from plotting.drawing.curves import draw_metric, how_to_read

TITLE = "Time to first byte"
HOW_TO_READ = how_to_read("first")
NEEDS = ("curves", "outcomes")
draw = partial(draw_metric, metric="ttfb")
