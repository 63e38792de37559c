"""The time to the last byte of all downloads."""

from functools import partial

from plotting.drawing.curves import draw_metric, how_to_read

TITLE = "Time to last byte"
HOW_TO_READ = how_to_read("last")
NEEDS = ("curves", "outcomes")
draw = partial(draw_metric, metric="ttlb")
