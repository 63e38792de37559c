"""What knobs with a range do to web clients' median times, alone and together, as a forest plot.

In: effects.csv. Out: a panel for each time and a line for each effect: the change in percent, its mean over
networks and 95 % interval. Colours are levels of the knobs without a range, or sources.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.drawing.axes import change_axis
from plotting.drawing.facets import legend_above
from plotting.drawing.palette import TEXT_WIDTH_IN, canvas, knob_name, level_name, nothing
from plotting.drawing.source import Source
from torsweep.config.knob import ALL_LOOKS
from torsweep.stats.text import SHOWN_METRICS

TITLE = "Effects of the knobs on web clients' times"
HOW_TO_READ = (
    "First each knob over its whole range, the others in the middle of theirs: left of zero is faster at its "
    "end. Then how far the middle is from both ends, and what one knob does to the effect of another. An "
    "interval that crosses zero leaves the direction open."
)
NEEDS = ("effects", "outcomes")

KIND = "web"
_KEYS = ["effect", "knob", "other", "from", "to"]
_LINE_IN, _MOST_SPAN = 0.3, 3.0
"""Height of a line, and how many times as far as its largest effect a panel reaches at most."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    if not source.has("effects"):
        caption = source.caption("No knob has a range, or there are too few settings.")
        return nothing("No effects to draw", pl.DataFrame(), caption)
    ends = ("ratio", "ratio_low", "ratio_high")
    points = source.summary("effects").with_columns(pl.col("at", "other").fill_null(""), pl.col(ends) - 1)
    points = points.filter(kind=KIND).rename({end: end.replace("ratio", "change") for end in ends})
    lines = points.select(_KEYS).unique(maintain_order=True).rows()
    ats = points["at"].unique(maintain_order=True).to_list()
    caption = source.caption(
        "Effects on median times, from a quadratic surface for each network.",
        source.band_note() if source.few else "Lines: 95 % t-intervals over networks.",
    )
    figure = canvas(TEXT_WIDTH_IN, 0.6 + _LINE_IN * len(lines) + 0.2 * (len(ats) > 1), caption)
    axes = figure.subplots(1, len(SHOWN_METRICS), sharey=True, squeeze=False)[0]
    marks = []
    for axis, (metric, name) in zip(axes, SHOWN_METRICS.items(), strict=True):
        marks = [_marks(axis, points.filter(metric=metric, at=at), lines, ats, at) for at in ats]
        _finish(axis, points.filter(metric=metric))
        axis.set(title=f"{KIND.capitalize()}, {name}", xlabel="Change (%)")
    axes[0].set_yticks(range(len(lines)), [_name(*line) for line in lines])
    axes[0].set_ylim(len(lines) - 0.5, -0.5)
    if len(ats) > 1:
        legend_above(figure, marks, handlelength=1.5)
    return figure, points, caption


def _name(effect: str, knob: str, other: str, first: str, last: str) -> str:
    if effect == "main":
        return f"{knob_name(knob)},\n{level_name(first)} → {level_name(last)}"
    if effect == "curvature":
        return f"{knob_name(knob)},\nmiddle against ends"
    return f"{knob_name(knob)}\n× {knob_name(other)}"


def _marks(axis: Axes, own: pl.DataFrame, lines: list[tuple[str, ...]], ats: list[str], at: str) -> object:
    """The effects at one level, each on its line; what stands for them in a legend."""
    look, place = ALL_LOOKS[ats.index(at)], 0.16 * (ats.index(at) - (len(ats) - 1) / 2)
    rows = own.drop_nulls("change")
    heights = [lines.index(row) + place for row in rows.select(_KEYS).rows()]
    known = rows.with_columns(height=pl.Series(heights, dtype=pl.Float64)).drop_nulls("change_low")
    axis.hlines(known["height"], known["change_low"], known["change_high"], color=look.colour, linewidth=1.4)
    return axis.scatter(
        rows["change"], heights, 14, color=look.colour, marker=look.marker, label=at, zorder=5
    )


def _finish(axis: Axes, own: pl.DataFrame) -> None:
    """Zero, and limits: an interval of two networks can be tens of times as wide as its mean."""
    farthest = max(0.05, float(own["change"].abs().max() or 0))  # type: ignore[arg-type]
    ends = [float(bound) for name in ("change_low", "change_high") for bound in own[name].drop_nulls()]
    reach = 1.1 * min(_MOST_SPAN * farthest, max([farthest, *map(abs, ends)]))
    axis.set_xlim(-reach, reach)
    change_axis(axis)
