"""How web clients' median times answer to the knobs that have a range.

In: responses.csv and effects.csv. Out: a row of panels for each time and a column for each knob, with the
mean curve over networks and the settings that have run; a forest plot of what the knobs do, alone and
together. Colours are levels of the knobs without a range, or sources.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from plotting.drawing.axes import change_axis, percent_formatter, plain_log_ticks, say_nothing_is_here
from plotting.drawing.facets import legend_above
from plotting.drawing.palette import (
    COLUMN_WIDTH_IN,
    GREY,
    TEXT_WIDTH_IN,
    canvas,
    knob_name,
    level_name,
    nothing,
)
from plotting.drawing.source import PlanFigure, Source
from torsweep.config.knob import ALL_MARKS, Mark
from torsweep.config.plan import number_in
from torsweep.stats.text import SHOWN_METRICS

KIND = "web"
_ROWS = {"ttfb": "First byte,\nchange (%)", "ttlb": "Last byte,\nchange (%)"}


def _nothing(source: Source, title: str) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without ranges."""
    caption = source.caption("No knob has a range, or there are too few settings.")
    return nothing(title, pl.DataFrame(), caption)


def _changes(source: Source, summary: str, text: str) -> pl.DataFrame:
    """The rows of ``summary`` on web clients: ``change`` and its bounds, as shares, in place of ratios;
    ``at`` and the column ``text`` without nulls."""
    ends = ("ratio", "ratio_low", "ratio_high")
    points = source.summary(summary).with_columns(pl.col("at", text).fill_null(""), pl.col(ends) - 1)
    return points.filter(kind=KIND).rename({end: end.replace("ratio", "change") for end in ends})


def _responses(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """How web clients' median times answer to the knobs that have a range."""
    if not source.has("responses"):
        return _nothing(source, "No response to draw")
    points = _changes(source, "responses", "unit")
    knobs, ats = (points[name].unique(maintain_order=True).to_list() for name in ("knob", "at"))
    settings = points.filter(what="setting", metric="ttfb", knob=knobs[0], at=ats[0]).height
    about = f"Quadratic surfaces over {settings} settings, one a network"
    moved = "; points: settings, moved along the surface to the others' baseline" if len(knobs) > 1 else ""
    caption = source.caption(f"{about}{moved}; dashed: the baseline.", source.band_note())
    marks, baseline = dict(zip(ats, ALL_MARKS, strict=False)), source.baseline()
    width = COLUMN_WIDTH_IN if len(knobs) <= 2 else TEXT_WIDTH_IN
    figure = canvas(width, 0.55 + 1.35 * len(_ROWS) + 0.2 * (len(ats) > 1), caption)
    axes = figure.subplots(len(_ROWS), len(knobs), sharex="col", sharey="row", squeeze=False)
    for row, (metric, name) in zip(axes, _ROWS.items(), strict=True):
        row[0].set_ylabel(name)
        for axis, knob in zip(row, knobs, strict=True):
            own = points.filter(metric=metric, knob=knob)
            for at, mark in marks.items():
                _curve(axis, own.filter(at=at), mark, source.few)
            axis.axvline(number_in(baseline[knob])[1], color=GREY, linewidth=0.7, linestyle="--", zorder=1)
            _scale(axis, own)
            if own["change"].is_null().all():
                say_nothing_is_here(axis, "median\nnot reached")
    for axis, knob in zip(axes[-1], knobs, strict=True):
        unit = points.filter(knob=knob)["unit"][0]
        axis.set_xlabel(knob_name(knob) + (f" ({unit})" if unit else ""))
    if len(ats) > 1:
        handles = [
            Line2D([], [], color=mark.colour, linestyle=mark.dashes, label=at) for at, mark in marks.items()
        ]
        legend_above(figure, handles, handlelength=2.4)
    return figure, points, caption


def _curve(axis: Axes, own: pl.DataFrame, mark: Mark, few: bool) -> None:
    curve, settings = (own.filter(what=what).drop_nulls("change") for what in ("curve", "setting"))
    axis.plot(curve["number"], curve["change"], color=mark.colour, linestyle=mark.dashes)
    band = curve.drop_nulls("change_low")
    if few:
        for end in ("change_low", "change_high"):
            axis.plot(band["number"], band[end], color=mark.colour, linewidth=0.6, alpha=0.8)
    else:
        axis.fill_between(
            band["number"], band["change_low"], band["change_high"], color=mark.colour, alpha=0.22, lw=0
        )
    axis.scatter(
        settings["number"],
        settings["change"],
        9,
        color=mark.colour,
        marker=mark.marker,
        edgecolors="white",
        linewidths=0.3,
        zorder=5,
    )


def _scale(axis: Axes, own: pl.DataFrame) -> None:
    if own["scale"][0] == "log":
        axis.set_xscale("log")
        numbers = own["number"].to_numpy()
        axis.set_xlim(numbers.min(), numbers.max())
        plain_log_ticks(axis)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.yaxis.set_major_locator(MaxNLocator(4))
    axis.yaxis.set_major_formatter(percent_formatter())


_KEYS = ["effect", "knob", "other", "from", "to"]
_LINE_IN, _MOST_SPAN = 0.3, 3.0
"""Height of a line, and how many times as far as its largest effect a panel reaches at most."""


def _effects(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """What knobs with a range do to web clients' median times, alone and together, as a forest plot."""
    if not source.has("effects"):
        return _nothing(source, "No effects to draw")
    points = _changes(source, "effects", "other")
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
    mark, place = ALL_MARKS[ats.index(at)], 0.16 * (ats.index(at) - (len(ats) - 1) / 2)
    rows = own.drop_nulls("change")
    heights = [lines.index(row) + place for row in rows.select(_KEYS).rows()]
    known = rows.with_columns(height=pl.Series(heights, dtype=pl.Float64)).drop_nulls("change_low")
    axis.hlines(known["height"], known["change_low"], known["change_high"], color=mark.colour, linewidth=1.4)
    return axis.scatter(
        rows["change"], heights, 14, color=mark.colour, marker=mark.marker, label=at, zorder=5
    )


def _finish(axis: Axes, own: pl.DataFrame) -> None:
    """Zero, and limits: an interval of two networks can be tens of times as wide as its mean."""
    farthest = max(0.05, float(own["change"].abs().max() or 0))  # type: ignore[arg-type]
    ends = [float(bound) for name in ("change_low", "change_high") for bound in own[name].drop_nulls()]
    reach = 1.1 * min(_MOST_SPAN * farthest, max([farthest, *map(abs, ends)]))
    axis.set_xlim(-reach, reach)
    change_axis(axis)


FIGURES = {
    "responses": PlanFigure(
        "Response of web clients' times to the knobs",
        "Each curve is the change of the median time as one knob goes through its range and the others stay "
        "at the baseline, whose level is the dashed line. Where the band holds 0, the effect is open. "
        "Points far from the curve are settings that the surface does not describe.",
        ("responses", "outcomes"),
        _responses,
    ),
    "effects": PlanFigure(
        "Effects of the knobs on web clients' times",
        "First each knob over its whole range, the others in the middle of theirs: left of zero is faster "
        "at its end. Then how far the middle is from both ends, and what one knob does to the effect of "
        "another. An interval that crosses zero leaves the direction open.",
        ("effects", "outcomes"),
        _effects,
    ),
}
