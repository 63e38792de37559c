"""Paired differences of medians against the baseline, as a forest plot."""

from plotting.drawing.forest import draw_differences, how_to_read

TITLE = "Differences from the baseline"
HOW_TO_READ = how_to_read()
NEEDS = ("differences", "outcomes")
draw = draw_differences
