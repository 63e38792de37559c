"""Cumulative incidence of a time: how many downloads got that far, by when.

In: curves.csv and outcomes.csv. Out: a row of panels for each kind of client, a curve for each level of the
first knob, facets for the others; bands over networks; a mark at the median. A curve ends with the last
quantile that every network reached. Where what remains failed or timed out, a dotted line goes on at the
share that got there, and figures at its right say how many failed; where the end of the run cut it off,
nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from plotting.drawing.facets import Facets, every_axis, label, say_nothing_is_here
from plotting.drawing.source import Source
from plotting.drawing.style import GREY, canvas
from plotting.drawing.ticks import plain_log_ticks
from torsweep.config.looks import Look
from torsweep.stats.streams.incidence import METRICS

KIND_NAMES = {"web": "Web downloads", "bulk": "Bulk downloads"}
_ROW_IN = 1.45
_LOW_END = 0.75
"""A curve that ends below this share leaves the upper left corner free, and not the lower right one."""
_CUT_OFF = 0.005
"""Share of downloads cut off by the end of the run that may be missing from a curve called whole."""


def how_to_read(byte: str) -> str:
    """How curves of the time to the ``byte`` (``first`` or ``last``) byte are read."""
    return (
        f"A point of a curve is the share of downloads that have their {byte} byte by that time: further "
        "left is faster. Marks are medians. A curve that ends below 100 % has downloads that failed or that "
        "the end of the run cut off."
    )


def draw_metric(source: Source, metric: str) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption, for ``metric`` (``ttfb`` or ``ttlb``)."""
    facets, kinds = Facets.of(source.knobs), source.kinds()
    points = source.summary("curves").filter(pl.col("metric") == metric)
    outcomes = source.summary("outcomes")
    notes = ["Marks: medians."] + ["Dotted: the rest failed."] * (outcomes["failure_share"] > 0).any()
    caption = source.caption(*notes, source.band_note())
    figure = canvas(facets.width_in, 0.75 + _ROW_IN * len(kinds) * len(facets.rows), caption)
    panels = facets.panels(figure, kinds, sharex="row")
    for kind, row in panels:
        of_kind = points.filter(pl.col("kind") == kind)
        for axis, column in row:
            failing = failures(facets, outcomes.filter(pl.col("kind") == kind), column)
            for level in facets.levels:
                _curve(
                    axis, facets.select(of_kind, column, level), facets.look(level), failing.get(level, 0.0)
                )
            if all(facets.select(of_kind, column, level).is_empty() for level in facets.levels):
                say_nothing_is_here(axis, f"no {METRICS[metric].label.removeprefix('Time to ')} was seen")
            coloured = [(share, facets.look(level).colour) for level, share in failing.items()]
            write_failures(axis, coloured, in_upper_left=_ends_low(facets, of_kind, column))
        _limit([axis for axis, _ in row], of_kind)
    for axis in every_axis(panels):
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axis.set_ylim(0, 1.02)
    label(panels, facets.row_names([KIND_NAMES[kind] for kind in kinds]), f"{METRICS[metric].label} (s)")
    facets.legend(figure, marker=True)
    return figure, points, caption


def _curve(axis: Axes, curve: pl.DataFrame, drawn: Look, failing: float) -> None:
    if curve.is_empty():
        return
    share, time_s = curve["share"].to_numpy(), curve["time_s"].to_numpy()
    low, high = (curve[name].cast(pl.Float64).to_numpy() for name in ("low_s", "high_s"))
    axis.fill_betweenx(share, low, high, color=drawn.colour, alpha=0.22, linewidth=0)
    axis.plot(time_s, share, color=drawn.colour, linestyle=drawn.dashes)
    median_s = curve["median_s"][0]
    if median_s is not None:
        axis.plot(
            median_s, 0.5, drawn.marker, color=drawn.colour, markersize=3.5, mec="white", mew=0.4, zorder=5
        )
    top = curve["top"][0]
    if top >= 1 - failing - _CUT_OFF:
        axis.plot([time_s[-1], 1e9], [top, top], color=drawn.colour, linewidth=0.6, linestyle=":")


def _limit(row: list[Axes], points: pl.DataFrame) -> None:
    """Log scale from the fastest thousandth to the slowest that every network reached."""
    times = points["time_s"].drop_nulls().to_numpy()
    if len(times) == 0:
        return
    for axis in row:
        axis.set_xscale("log")
        axis.set_xlim(times[times > 0].min() * 0.9, times.max() * 1.15)
        plain_log_ticks(axis)


def failures(facets: Facets, outcomes: pl.DataFrame, column: dict[str, str]) -> dict[str, float]:
    """Share of downloads that failed or timed out, by level of the colour's knob, in one panel."""
    found = {}
    for level in facets.levels:
        row = facets.select(outcomes, column, level)
        if not row.is_empty():
            found[level] = float(row["failure_share"][0])
    return found


def _ends_low(facets: Facets, curves: pl.DataFrame, column: dict[str, str]) -> bool:
    """Whether the curves of a panel end in its lower right corner."""
    ends = [facets.select(curves, column, level)["share"].max() for level in facets.levels]
    return min((end for end in ends if isinstance(end, float)), default=1.0) < _LOW_END


def write_failures(axis: Axes, failing: Sequence[tuple[float, str]], *, in_upper_left: bool) -> None:
    """Say in the panel's lower right corner, or its upper left, how many downloads failed, where any did."""
    if not any(share for share, _ in failing):
        return
    lines = [("failed", GREY)]
    lines += [(f"{share:.1%}".replace("%", " %"), colour) for share, colour in failing]
    corner, across, along = ((0, 1), "left", "top") if in_upper_left else ((1, 0), "right", "bottom")
    inwards = -1 if in_upper_left else 1
    for number, (text, colour) in enumerate(lines if in_upper_left else reversed(lines)):
        axis.annotate(
            text,
            corner,
            xycoords="axes fraction",
            xytext=(-2 * inwards, inwards * (3 + 8.5 * number)),
            textcoords="offset points",
            ha=across,
            va=along,
            color=colour,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        )
