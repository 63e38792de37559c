"""What each source shows of every contrast between variants, or one engine of two knobs.

In: contrasts.csv. Out: a panel for each kind and time and a line for each contrast: the ratio of medians
under each source with its 95 % interval; hollow marks: one network, so no interval. Grey: the margin within
which there is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from plotting.drawing.facets import Facets, folded, levels_text
from plotting.drawing.palette import FAINT, GREY, TEXT_WIDTH_IN, canvas, level_name, nothing
from plotting.drawing.source import PlanFigure, Source
from torsweep.config.replicates import NO_DIFFERENCE_BELOW
from torsweep.runsets.plan_tables import SOURCE
from torsweep.stats.text import SHOWN_METRICS

MOST_LINES = 12
"""Contrasts in a panel: where a plan has more, those from the baseline's level are drawn."""

_POINT_IN, _GAP_IN, _NAME_IN = 0.085, 0.07, 0.27
_TEXT_IN, _MOST_LETTERS = 0.13, 40
"""The height of a line of text, and how long one may be."""
_LEAST_REACH, _ROOM = np.log(1.5), 1.8
"""How far a panel reaches at least, and how far beyond its farthest ratio, in logarithms."""
_TICKS = ((0.7, 1, 1.4), (0.5, 0.7, 1, 1.4, 2), (0.2, 0.5, 1, 2, 5), (0.01, 0.1, 1, 10, 100))
"""Ticks of a panel, by how far it reaches."""
_KEYS = ["knob", "at", "from", "to"]

_Line = tuple[str, str, str, str]


def _draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    if not source.has("contrasts"):
        caption = source.caption("The plan has no two variants that differ in one knob.")
        return nothing("Nothing to compare", pl.DataFrame(), caption)
    points = source.summary("contrasts").with_columns(pl.col("at").fill_null(""))
    lines, count = _lines(points, source.baseline())
    known = points.filter(pl.col("ratio").is_not_null())
    panels = list(known.select("kind", "metric").unique(maintain_order=True).iter_rows())
    some = f" Of {count} contrasts, those with the baseline's level are shown." if count > len(lines) else ""
    caption = source.caption(
        "Ratios of medians: geometric means over the networks of both variants, with 95 % t-intervals, "
        f"paired by network; hollow: one network, no interval; grey: within ±{NO_DIFFERENCE_BELOW:.0%}.{some}"
    )
    # A line's name takes two lines of text or more.
    facets = Facets.of({SOURCE: source.knobs.get(SOURCE) or [source.provenance.engine]})
    each_in = max(_NAME_IN, _GAP_IN + _POINT_IN * len(facets.levels))
    names = list(map(_line_name, lines))
    each_in = max(each_in, _TEXT_IN * max((name.count("\n") + 1 for name in names), default=0))
    figure = canvas(TEXT_WIDTH_IN, 0.9 + each_in * len(lines), caption)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (kind, metric) in zip(axes, panels, strict=True):
        axis.axvspan(1 - NO_DIFFERENCE_BELOW, 1 + NO_DIFFERENCE_BELOW, color=FAINT, linewidth=0)
        axis.axvline(1, color=GREY, linewidth=0.7)
        _panel(axis, facets, points.filter(kind=kind, metric=metric), lines)
        axis.set(title=f"{kind.capitalize()}, {SHOWN_METRICS[metric]}", xlabel="Ratio (to / from)")
    axes[0].set_yticks(range(len(lines)), names)
    axes[0].set_ylim(len(lines) - 0.5, -0.5)
    facets.legend(figure, marker=True)
    return figure, points, caption


def _lines(points: pl.DataFrame, baseline: Mapping[str, str]) -> tuple[list[_Line], int]:
    """The contrasts that are drawn, knob by knob, and how many there are."""
    every: list[_Line] = list(points.select(_KEYS).unique(maintain_order=True).iter_rows())
    lines = [line for line in every if len(every) <= MOST_LINES or baseline[line[0]] in line[2:]]
    order = list(baseline)
    return sorted(lines, key=lambda line: (order.index(line[0]), line[1])), len(every)


def _line_name(line: _Line) -> str:
    knob, at, one, other = line
    held = ", ".join(level_name(level) for level in at.split(", ") if level)
    text = f"{levels_text({knob: one})} → {level_name(other)}" + (f"\n{held}" if held else "")
    return folded(text, _MOST_LETTERS)


def _panel(axis: Axes, facets: Facets, points: pl.DataFrame, lines: Sequence[_Line]) -> None:
    ratios, many = points["ratio"].drop_nulls().to_numpy(), len(facets.levels)
    reach = max(_LEAST_REACH, _ROOM * float(np.max(np.abs(np.log(ratios)), initial=0.0)))
    for row in points.drop_nulls("ratio").iter_rows(named=True):
        line, drawn = (row["knob"], row["at"], row["from"], row["to"]), facets.marks[row[SOURCE]]
        if line not in lines:
            continue
        place = facets.levels.index(row[SOURCE]) - (many - 1) / 2
        height = lines.index(line) + place * _POINT_IN / (_GAP_IN + _POINT_IN * many)
        if row["low"] is not None:
            _interval(axis, height, (row["low"], row["high"]), drawn.colour, reach)
        inside = drawn.colour if row["low"] is not None else "white"
        axis.plot(
            row["ratio"], height, drawn.marker, color=drawn.colour, mfc=inside, ms=3.2, mew=0.7, zorder=5
        )
    for number in range(1, len(lines)):
        axis.axhline(number - 0.5, color=FAINT, linewidth=0.5)
    axis.set_xscale("log")
    axis.set(xlim=(np.exp(-reach), np.exp(reach)), xlabel="", ylabel="")
    offered = next((ticks for ticks in _TICKS if reach < 1.6 * np.log(ticks[-1])), _TICKS[-1])
    axis.xaxis.set_major_locator(FixedLocator([tick for tick in offered if abs(np.log(tick)) <= reach]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.grid(False, axis="y")


def _interval(axis: Axes, height: float, ends: tuple[float, float], colour: str, reach: float) -> None:
    """An interval; what leaves the panel ends in an arrow."""
    low, high = np.exp(-reach), np.exp(reach)
    axis.hlines(height, max(ends[0], low), min(ends[1], high), color=colour, linewidth=1.1)
    for beyond, edge, arrow in ((ends[0] < low, low, "<"), (ends[1] > high, high, ">")):
        if beyond:
            axis.plot(edge, height, arrow, color=colour, markersize=2.4, clip_on=False)


FIGURE = PlanFigure(
    "contrasts",
    "Contrasts between variants, under each source",
    "Each line is a change of one knob: left of one is quicker. Where the intervals of two sources lie on "
    "the same side of the grey band, the finding survives; on opposite sides, it depends on the source.",
    ("contrasts", "outcomes"),
    _draw,
)
