"""What the first byte of a followed download waits for: bars of its parts, drawn by group.

In: summaries of breakdowns. Out: marks, colours and legends for their figures. The means of the groups add up
to the mean of the whole time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import legend_above
from plotting.drawing.source import Source
from plotting.drawing.style import FAINT, nothing
from torsweep.config.knob import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from torsweep.config.tracing import GROUPS

FIRST = "first"
"""The byte that figures are about."""

BAR = so.Bar(alpha=1, edgewidth=0)
_LOOKS = {
    "circuit": ("#AAAAAA", "waiting for a circuit"),
    "kernel": (VERMILION, "kernel"),
    "circuit_queue": (BLUE, "circuit queue"),
    "process": (PURPLE, "a process's work"),
    "bucket": (ORANGE, "bucket"),
    "window": (BLACK, "window"),
    "link_queue": (SKY, "queue of a link"),
    "link": (GREEN, "link"),
    "unknown": (FAINT, "not recorded"),
}
"""Colour and name of each group."""

SCALE = so.Nominal({group: _LOOKS[group][0] for group in GROUPS}, order=list(GROUPS))
_LEAST_SHARE = 1e-4
"""A group that has no larger share of any bar cannot be seen, and is not in the legend."""


def kinds_of(source: Source, points: pl.DataFrame) -> list[str]:
    """The kinds of client in ``points``, in the order of figures."""
    return [kind for kind in source.kinds() if kind in set(points["kind"])]


def followed(points: pl.DataFrame, kinds: Sequence[str]) -> str:
    """The numbers of downloads behind the bars: the smallest and the largest."""
    texts = []
    for kind in kinds:
        counts = points.filter(kind=kind)["downloads"].to_list()
        numbers = " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
        texts.append(f"{numbers} {kind} downloads")
    return " and ".join(texts) + " per bar"


def seen(points: pl.DataFrame) -> set[str]:
    """The groups that can be seen in some bar."""
    return set(points.filter(pl.col("share") > _LEAST_SHARE)["group"])


def legend(figure: Figure, groups: Container[str]) -> None:
    """The groups that are drawn, in their order."""
    legend_above(
        figure, [Patch(color=_LOOKS[one][0], label=_LOOKS[one][1]) for one in GROUPS if one in groups], 1.2
    )


def nothing_followed(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without downloads to draw."""
    caption = source.caption("No followed download got its first byte in the measured time.")
    return nothing("No download was followed", points, caption)
