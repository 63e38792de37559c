"""Contrasts of web clients against the scale of the network: a column for each contrast, a row for each time.

In: scale_contrasts.csv. Out: a point and an interval for each scale and each level of the knob that is not
compared: of the change, paired by network, or of the standard deviation between networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from plotting.drawing.axes import log_ticks, percent_formatter, say_nothing_is_here
from plotting.drawing.palette import COLUMN_WIDTH_IN, GREY, canvas, level_name, marks, nothing
from plotting.drawing.source import PlanFigure, Source

KIND = "web"
ROWS = {
    "First byte,\nmedian": ("ttfb", "median"),
    "Last byte,\nmedian": ("ttlb", "median"),
    "Last byte,\n90th percentile": ("ttlb", "p90"),
    "Last byte,\n99th percentile": ("ttlb", "p99"),
}
_ROW_IN, _BESIDE = 1.05, 1.05
"""Height of a row of panels, and the factor between two points at one scale."""


@dataclass(frozen=True)
class ContrastPanel:
    """The axes of one contrast and one time, and its points, sorted by scale."""

    axis: Axes
    points: pl.DataFrame

    def lines(self) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """Colour and marker of each level of the other knob, and its points with their place ``x``."""
        knobs = self.points["other_knob"]
        levels = self.points["at"].unique(maintain_order=True).to_list()
        drawn_as = marks(str(knobs[0]), levels) if levels else {}
        for number, (level, drawn) in enumerate(drawn_as.items()):
            beside = _BESIDE ** (2 * number - len(levels) + 1)
            own = self.points.filter(at=level).with_columns(x=pl.col("size") * beside)
            yield drawn.colour, drawn.marker, own

    def mark(self, value: str, missing: str) -> None:
        """Draw ``value`` with the interval from ``value_low`` to ``value_high`` at each scale that has one;
        write ``missing`` where no scale has."""
        if self.points[value].is_null().all():
            say_nothing_is_here(self.axis, missing)
        for colour, marker, every in self.lines():
            own = every.filter(pl.col(value).is_not_null())
            self.axis.vlines(own["x"], own[f"{value}_low"], own[f"{value}_high"], color=colour, linewidth=1.1)
            self.axis.plot(own["x"], own[value], color=colour, linewidth=0.6, alpha=0.5)
            self.axis.scatter(own["x"], own[value], 14, color=colour, marker=marker, linewidths=0.4, zorder=5)


def points_of(source: Source) -> pl.DataFrame:
    """What is drawn of scale_contrasts.csv, with ``size``, the scale as a number, and ``other_knob``."""
    varying = [knob for knob, levels in source.knobs.items() if len(levels) > 1 and knob != "scale"]
    other = {knob: next((name for name in varying if name != knob), knob) for knob in varying}
    times = [pl.col("metric").eq(metric) & pl.col("estimand").eq(name) for metric, name in ROWS.values()]
    return (
        source.summary("scale_contrasts")
        .filter(pl.any_horizontal(times), kind=KIND)
        .with_columns(
            pl.col("at").fill_null(""),
            size=pl.col("scale").cast(pl.Float64),
            other_knob=pl.col("knob").replace_strict(other),
        )
        .sort("size", maintain_order=True)
    )


def panels(
    source: Source, points: pl.DataFrame, value: str, note: str, missing: str
) -> tuple[Figure, list[ContrastPanel], str]:
    """A panel of ``value`` for each contrast and each time that has any, all with one range; and the caption.

    ``note`` says what is drawn, ``missing`` why a time or a panel has none.
    """
    contrasts = points.select("knob", "from", "to").unique(maintain_order=True).sort("knob").rows()
    times = set(points.filter(pl.col(value).is_not_null()).select("metric", "estimand").iter_rows())
    rows = {name: time for name, time in ROWS.items() if time in times}
    left_out = [name.replace("\n", " ") for name in ROWS if name not in rows]
    notes = [f"{missing.capitalize()}: {'; '.join(left_out).lower()}."] if left_out else []
    caption = source.caption(note, *notes)
    if not rows:
        return nothing(missing.capitalize(), points, caption)[0], [], caption
    figure = canvas(COLUMN_WIDTH_IN, 0.75 + _ROW_IN * len(rows), caption, *notes)
    axes = figure.subplots(len(rows), len(contrasts), sharex=True, sharey=True, squeeze=False)
    found = []
    for (time, (metric, estimand)), line in zip(rows.items(), axes, strict=True):
        line[0].set_ylabel(time)
        for axis, (knob, one, other) in zip(line, contrasts, strict=True):
            own = points.filter(pl.col("from") == one, metric=metric, estimand=estimand, knob=knob, to=other)
            panel = ContrastPanel(axis, own)
            if axis in axes[0]:
                _head(panel, f"{level_name(one)} → {level_name(other)}")
            panel.mark(value, missing)
            found.append(panel)
    for axis in axes[-1]:
        axis.set_xlabel("Scale")
        axis.tick_params(axis="x", rotation=45)
    _scale_axis(axes[-1, 0], sorted(set(points["size"])))
    return figure, found, caption


def _head(panel: ContrastPanel, contrast: str) -> None:
    """The contrast's name, and which level of the other knob has which mark, above the column."""
    marks = [
        panel.axis.scatter([], [], 14, color=colour, marker=marker, label=level_name(str(own["at"][0])))
        for colour, marker, own in panel.lines()
        if own["at"][0]
    ]
    where: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.1}
    tight: Any = {"handlelength": 1, "handletextpad": 0.1, "columnspacing": 0.5, "borderpad": 0.1}
    panel.axis.legend(handles=marks, title=contrast, ncols=2, alignment="left", **where, **tight)


def _scale_axis(axis: Axes, sizes: list[float]) -> None:
    axis.set_xscale("log")
    axis.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axis.xaxis.set_major_locator(FixedLocator(sizes))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_formatter(NullFormatter())


_FARTHEST = 2.5
"""How far panels reach, in greatest changes."""


def _scale_effect(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """What a knob does to web clients, against the scale of the network."""
    ends = ("ratio", "ratio_low", "ratio_high")
    points = points_of(source).with_columns(pl.col(ends) - 1)
    points = points.rename({end: end.replace("ratio", "change") for end in ends})
    # An interval of two networks can reach any number: it goes on beyond the panel.
    farthest = _FARTHEST * float(points["change"].abs().max() or 1.0)  # type: ignore[arg-type]
    note = "Change of web clients' times (%), paired by network: means and 95 % t-intervals over networks."
    figure, drawn, caption = panels(source, points, "change", note, "not reached")
    for panel in drawn:
        panel.axis.axhline(0, color=GREY, linewidth=0.7, zorder=1)
        lowest, highest = panel.axis.get_ylim()
        panel.axis.set_ylim(max(lowest, -min(farthest, 1.0)), min(highest, farthest))
        panel.axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        panel.axis.yaxis.set_major_formatter(percent_formatter())
    return figure, points, caption


def _scale_spread(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """How far the answers of single networks are apart, against the scale of the network."""
    # A logarithmic axis has no place for no spread.
    spread = pl.when(pl.col("spread") > 0).then(pl.col("spread"))
    points = points_of(source).with_columns(spread.alias("spread"))
    note = (
        "Standard deviation between networks of the log ratio of two variants' times (%), with 95 % "
        "intervals (χ²); grey: as one over the root of the scale."
    )
    figure, drawn, caption = panels(source, points, "spread", note, "no spread")
    for panel in drawn:
        panel.axis.set_yscale("log")
        for _, _, line in panel.lines():
            root = line["size"], line["spread_by_root"]
            panel.axis.plot(*root, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for panel in drawn:
        panel.axis.yaxis.set_major_locator(log_ticks(*panel.axis.get_ylim()))
        panel.axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}"))
        panel.axis.yaxis.set_minor_formatter(NullFormatter())
    return figure, points.drop_nulls("spread"), caption


FIGURES = (
    PlanFigure(
        "scale_effect",
        "Effects against the scale of the network",
        "Each point is the change of a time when one knob changes, on networks of one scale: below zero is "
        "quicker. Where the points are level, scaling down does not change the answer; where they rise or "
        "fall, a small network gives another answer. An interval that crosses zero leaves the direction "
        "open, and one that ends at the edge of a panel goes on beyond it.",
        ("scale_contrasts", "outcomes"),
        _scale_effect,
    ),
    PlanFigure(
        "scale_spread",
        "Spread between networks against their scale",
        "Each point is the standard deviation, between networks, of the change that a network shows. Along "
        "the grey line it falls as one over the square root of the scale: then ten small networks say as "
        "much as one that is ten times as large. If points fall faster, one large network says more; if "
        "slower, less.",
        ("scale_contrasts", "outcomes"),
        _scale_spread,
    ),
)
