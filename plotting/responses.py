"""How web clients' median times answer to the knobs that have a range.

In: responses.csv. Out: a row of panels for each time and a column for each knob: the mean curve over networks
with its band, and the settings that have run. Colours are levels of the knobs without a range, or sources.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from plotting.drawing.axes import percent_formatter, plain_log_ticks, say_nothing_is_here
from plotting.drawing.facets import legend_above
from plotting.drawing.palette import COLUMN_WIDTH_IN, GREY, TEXT_WIDTH_IN, canvas, knob_name, nothing
from plotting.drawing.source import Source
from torsweep.config.knob import ALL_LOOKS, Look
from torsweep.config.plan import number_in

TITLE = "Response of web clients' times to the knobs"
HOW_TO_READ = (
    "Each curve is the change of the median time as one knob goes through its range and the others stay at "
    "the baseline, whose level is the dashed line. Where the band holds 0, the effect is open. Points far "
    "from the curve are settings that the surface does not describe."
)
NEEDS = ("responses", "outcomes")

KIND = "web"
_ROWS = {"ttfb": "First byte,\nchange (%)", "ttlb": "Last byte,\nchange (%)"}


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    if not source.has("responses"):
        caption = source.caption("No knob has a range, or there are too few settings.")
        return nothing("No response to draw", pl.DataFrame(), caption)
    ends = ("ratio", "ratio_low", "ratio_high")
    points = source.summary("responses").with_columns(pl.col("at", "unit").fill_null(""), pl.col(ends) - 1)
    points = points.filter(kind=KIND).rename({end: end.replace("ratio", "change") for end in ends})
    knobs, ats = (points[name].unique(maintain_order=True).to_list() for name in ("knob", "at"))
    settings = points.filter(what="setting", metric="ttfb", knob=knobs[0], at=ats[0]).height
    about = f"Quadratic surfaces over {settings} settings, one a network"
    moved = "; points: settings, moved along the surface to the others' baseline" if len(knobs) > 1 else ""
    caption = source.caption(f"{about}{moved}; dashed: the baseline.", source.band_note())
    looks, baseline = dict(zip(ats, ALL_LOOKS, strict=False)), source.baseline()
    width = COLUMN_WIDTH_IN if len(knobs) <= 2 else TEXT_WIDTH_IN
    figure = canvas(width, 0.55 + 1.35 * len(_ROWS) + 0.2 * (len(ats) > 1), caption)
    axes = figure.subplots(len(_ROWS), len(knobs), sharex="col", sharey="row", squeeze=False)
    for row, (metric, name) in zip(axes, _ROWS.items(), strict=True):
        row[0].set_ylabel(name)
        for axis, knob in zip(row, knobs, strict=True):
            own = points.filter(metric=metric, knob=knob)
            for at, look in looks.items():
                _curve(axis, own.filter(at=at), look, source.few)
            axis.axvline(number_in(baseline[knob])[1], color=GREY, linewidth=0.7, linestyle="--", zorder=1)
            _scale(axis, own)
            if own["change"].is_null().all():
                say_nothing_is_here(axis, "median\nnot reached")
    for axis, knob in zip(axes[-1], knobs, strict=True):
        unit = points.filter(knob=knob)["unit"][0]
        axis.set_xlabel(knob_name(knob) + (f" ({unit})" if unit else ""))
    if len(ats) > 1:
        handles = [
            Line2D([], [], color=look.colour, linestyle=look.dashes, label=at) for at, look in looks.items()
        ]
        legend_above(figure, handles, handlelength=2.4)
    return figure, points, caption


def _curve(axis: Axes, own: pl.DataFrame, look: Look, few: bool) -> None:
    curve, settings = (own.filter(what=what).drop_nulls("change") for what in ("curve", "setting"))
    axis.plot(curve["number"], curve["change"], color=look.colour, linestyle=look.dashes)
    band = curve.drop_nulls("change_low")
    if few:
        for end in ("change_low", "change_high"):
            axis.plot(band["number"], band[end], color=look.colour, linewidth=0.6, alpha=0.8)
    else:
        axis.fill_between(
            band["number"], band["change_low"], band["change_high"], color=look.colour, alpha=0.22, lw=0
        )
    axis.scatter(
        settings["number"],
        settings["change"],
        9,
        color=look.colour,
        marker=look.marker,
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
