"""Cumulative incidence of a time: the share of downloads that got that far by then.

In: curves.csv and outcomes.csv. Out: a row of panels for each kind of client, a curve for each level of the
first knob, facets for the others; a mark at the median. Bands are those of the difference from the baseline,
paired by network; where variants have no networks in common, those of the mean over networks. A curve ends
with the last quantile that every network reached: the other downloads failed or were cut off by the end of
the run, and numbers in a corner say how many failed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.axes import plain_log_ticks, say_nothing_is_here, share_axis, share_text
from plotting.drawing.facets import MARK, PLACE, Facets, Panel, band
from plotting.drawing.palette import GREY, canvas, nothing
from plotting.drawing.source import PlanFigure, Source, draw_perf, kind_title
from torsweep.config.traffic import KIND_NAMES
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.likeness import tells_of
from torsweep.stats.streams.incidence import AFTER_COMMAND, METRICS, clock_text

PUBLIC_LINE: dict[str, Any] = {"color": GREY, "linestyle": "-", "linewidth": 0.8, "label": "public Tor"}
"""How the public network is drawn."""

_ROW_IN = 1.45
_LOW_END = 0.75
"""A curve that ends below this share leaves the upper left corner free, and not the lower right one."""
_STUCK = "Got nothing: clients without a byte in the last minute of the run."


def how_to_read(byte: str) -> str:
    """How curves of the time to the ``byte`` (``first`` or ``last``) byte are read."""
    return (
        f"A point of a curve is the share of downloads that have their {byte} byte by that time: further "
        "left is faster. Marks are medians. A band is the interval of a variant's difference from the "
        "baseline: where it leaves the baseline's curve out, the two differ. Where a curve ends below 100 %, "
        "the other downloads failed or were cut off by the end of the run."
    )


def draw_metric(source: Source, metric: str) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption, for ``metric`` (``ttfb``, say). Where the public network
    stands beside them, times count as they do there: most files of it count from the request."""
    beside = source.public()
    if beside is not None and _public(beside, metric).is_empty():
        metric += AFTER_COMMAND
    public = _public(beside, metric)
    facets, kinds = Facets.of(source.knobs), source.kinds()
    points = _monotone(source.summary("curves").filter(metric=metric), facets)
    outcomes = source.summary("outcomes")
    paired = points["paired_low_s"].is_not_null().any()
    low, high = ("paired_low_s", "paired_high_s") if paired else ("low_s", "high_s")
    about_bands = "Bands: 95 % t-intervals of the difference from the baseline, paired by network."
    about_bands = about_bands if paired else source.band_note()
    notes = [f"Times {clock_text(METRICS[metric].clock)}. Marks: medians."]
    notes += [] if beside is None or public.is_empty() else [f"Public Tor: {beside['file'][0]}."]
    missing = [kind for kind in kinds if points.filter(kind=kind).is_empty()]
    left_out = [
        f"In a network, no {KIND_NAMES[kind]} download got its {_byte(metric)} in the measured time."
        for kind in missing
    ]
    caption = source.caption(*notes, *left_out, about_bands)
    kinds = [kind for kind in kinds if kind not in missing]
    if not kinds:
        return nothing(
            f"In a network, no download got its {_byte(metric)} in the measured time", points, caption
        )
    stuck = source.clients_stalled()
    left_out += [_STUCK] * bool(stuck.filter(pl.col("kind").is_in(kinds), pl.col("stuck") > 0).height)
    height_in = 0.75 + _ROW_IN * len(kinds) * len(facets.rows)
    figure = canvas(facets.width_in, height_in, caption, *_thin(source), *left_out)
    things = {f"{kind_title(kind)} downloads": points.filter(kind=kind) for kind in kinds}
    first_of_curve = pl.struct(*PLACE, facets.knob).is_first_distinct()
    placed = facets.place(things).with_columns(pl.when(first_of_curve).then("median_s"), half=0.5)
    plot = (
        facets.plot(placed, things, x="time_s", y="share")
        .add(band(source), xmin=low, xmax=high, edgestyle=facets.knob, orient="y", legend=False)
        .add(so.Path(), legend=False)
        .add(MARK, x="median_s", y="half", marker=facets.knob, legend=False)
        .share(x=True)
    )
    panels = facets.put(plot, figure, things, f"{METRICS[metric].label} (s)")
    drawn = [points.select("time_s"), *(public.filter(tells_of(kind)).select("time_s") for kind in kinds)]
    _limit(panels[0].axis, pl.concat(drawn))
    for panel in panels:
        kind = kinds[list(things).index(panel.thing)]
        own = at_levels(things[panel.thing], panel.levels)
        there = public.filter(tells_of(kind))
        _finish(facets, panel, own, at_levels(_with_stuck(outcomes, stuck, kind), panel.levels), there)
        if own.is_empty():
            say_nothing_is_here(
                panel.axis, f"in a network, no download got\nits {_byte(metric)} in the measured time"
            )
    of_public = [] if public.is_empty() else [Line2D([], [], **PUBLIC_LINE)]
    bands = "95 % interval of the difference" if paired else source.band_words()
    facets.legend(figure, marker=True, more=[*facets.of_bands(source, bands), *of_public])
    return figure, points, caption


def _finish(
    facets: Facets, panel: Panel, own: pl.DataFrame, outcomes: pl.DataFrame, public: pl.DataFrame
) -> None:
    share_axis(panel.axis)
    _failures(facets, panel, own, outcomes)
    if not public.is_empty():
        panel.axis.plot(public["time_s"], public["share"], **PUBLIC_LINE)


def _byte(metric: str) -> str:
    """``first byte`` or ``last byte``."""
    return METRICS[metric].label.removeprefix("Time to ")


def _public(beside: pl.DataFrame | None, metric: str) -> pl.DataFrame:
    """Quantiles of ``metric`` in the public network (kind, share, time_s)."""
    if beside is None:
        return pl.DataFrame(schema={"kind": pl.String, "share": pl.Float64, "time_s": pl.Float64})
    return beside.filter(measure=metric).select("kind", "share", time_s="value")


def _limit(axis: Axes, points: pl.DataFrame) -> None:
    """Logarithmic, from the fastest thousandth to the slowest that every network reached."""
    times = points.filter(pl.col("time_s") > 0)["time_s"].to_numpy()
    axis.set_xlim(times.min() * 0.9, times.max() * 1.15)
    # Not by seaborn's scale, which leaves the bounds of bands out.
    axis.set_xscale("log")
    plain_log_ticks(axis)


def _thin(source: Source) -> list[str]:
    return [f"Thick: mean. {source.band_note()}"] * (source.few and len(source.provenance.seeds) > 1)


def _monotone(curves: pl.DataFrame, facets: Facets) -> pl.DataFrame:
    """``curves`` with bounds that rise with the share, as the times do: a later quantile is no earlier.

    Rearranged bounds cover a monotone curve at least as well (Chernozhukov, Fernández-Val and Galichon,
    Biometrika 96, 2009). Without it a wide interval of the slowest downloads reaches far to the left.
    """
    curve = ["kind", facets.knob, *facets.rows[0], *facets.columns[0]]
    return curves.with_columns(
        pl.col("low_s", "paired_low_s").cum_max().over(curve),
        pl.col("high_s", "paired_high_s").cum_min(reverse=True).over(curve),
    )


def _with_stuck(every: pl.DataFrame, stuck: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The outcomes of ``kind`` with the share of its clients that got nothing in the last minute, 0 where
    nobody knows."""
    outcomes = every.filter(kind=kind)
    if stuck.is_empty():
        return outcomes.with_columns(stuck=pl.lit(0.0))
    keys = [name for name in stuck.columns if name != "stuck"]
    joined = outcomes.join(stuck, on=keys, how="left", maintain_order="left")
    return joined.with_columns(pl.col("stuck").fill_null(0.0))


def _failures(facets: Facets, panel: Panel, curves: pl.DataFrame, outcomes: pl.DataFrame) -> None:
    """Write the number of failures into a corner that the ``curves`` leave free."""
    both = (outcomes["stuck"] > 0).any()
    lines, ends = [("failed | got nothing" if both else "failed", GREY)], [1.0]
    for level in facets.levels:
        of_level = at_levels(outcomes, {facets.knob: level}).select("failure_share", "stuck")
        for failing, stuck in of_level.iter_rows():
            text = share_text(failing) + (f" | {share_text(stuck)}" if both else "")
            lines.append((text, facets.marks[level].colour))
        ends += at_levels(curves, {facets.knob: level})["share"].tail(1).to_list()
    if both or (outcomes["failure_share"] > 0).any():
        _write_failures(panel.axis, lines, in_upper_left=min(ends) < _LOW_END)


def _write_failures(axis: Axes, lines: list[tuple[str, str]], *, in_upper_left: bool) -> None:
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


FIGURES = (
    PlanFigure(
        "ttfb_cdf",
        "Time to first byte",
        how_to_read("first"),
        ("curves", "outcomes", "measures"),
        partial(draw_metric, metric="ttfb"),
    ),
    PlanFigure(
        "ttlb_cdf",
        "Time to last byte",
        how_to_read("last"),
        ("curves", "outcomes", "measures"),
        partial(draw_metric, metric="ttlb"),
    ),
    PlanFigure(
        "perf_ttfb_cdf",
        "Time to first byte, perf clients",
        how_to_read("first"),
        ("perf_curves", "perf_outcomes", "outcomes"),
        partial(draw_perf, draw=partial(draw_metric, metric="ttfb")),
    ),
    PlanFigure(
        "perf_ttlb_cdf",
        "Time to last byte, perf clients",
        how_to_read("last"),
        ("perf_curves", "perf_outcomes", "outcomes"),
        partial(draw_perf, draw=partial(draw_metric, metric="ttlb")),
    ),
)
