"""The curves of each source on the networks that all sources have run, with the floor as a band.

In: curves.csv and gaps.csv. Out: a row of panels for each variant, a panel for each kind and time. The band
around the reference's curve is as high as the floor, the distance between two runs of the reference; the
lighter band shows the aim, which is the floor plus a margin.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from plotting.compare_distances import AIM_GREY, FLOOR_GREY
from plotting.drawing.axes import plain_log_ticks
from plotting.drawing.compared import ComparedSources, time_name, variant_name, varying
from plotting.drawing.style import SMALL_PT, TEXT_WIDTH_IN, canvas
from torsweep.compare.distances import MARGIN

TITLE = "Curves of the sources"
HOW_TO_READ = (
    "Each curve is the share of downloads that is complete by a time. A curve that stays within the dark "
    "band is as close to the reference as a second run of the reference."
)
NEEDS = ("curves", "gaps")

MOST_VARIANTS = 6
"""Rows of a figure: where there are more variants, the first are drawn, and the points have all."""


def draw(source: ComparedSources) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points, gaps = source.table("curves"), source.table("gaps")
    knobs = source.about.knobs
    times = list(points.select("kind", "metric").unique(maintain_order=True).iter_rows())
    variants = points.select(knobs).unique(maintain_order=True)
    shown = list(variants.head(MOST_VARIANTS).iter_rows(named=True))
    left_out = f"The first {len(shown)} of {len(variants)} variants." if len(variants) > len(shown) else ""
    caption = source.caption(
        "Band: the floor, the gap between two runs of the reference with different seeds; light: the aim, "
        f"floor + {MARGIN:g}. Numbers: the greatest gap (KS) of each source.",
        left_out,
    )
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.45 * len(shown), caption)
    axes = figure.subplots(len(shown), len(times), sharex="col", sharey=True, squeeze=False)
    for line, variant in zip(axes, shown, strict=True):
        for axis, (kind, metric) in zip(line, times, strict=True):
            here = {**variant, "kind": kind, "metric": metric}
            chosen = [pl.col(name) == value for name, value in here.items()]
            _panel(axis, source, points.filter(*chosen), gaps.filter(*chosen))
        line[0].set_ylabel(variant_name(variant, varying(points, knobs)))
    for axis, (kind, metric) in zip(axes[0], times, strict=True):
        axis.set_title(time_name(kind, metric))
    for axis in axes[-1]:
        axis.set_xlabel("Time (s)")
    source.legend(figure, lines=True)
    return figure, points, caption


def _panel(axis: Axes, source: ComparedSources, points: pl.DataFrame, gaps: pl.DataFrame) -> None:
    reference = points.filter(pl.col("source") == source.about.sources[0].label)
    times, share = reference["time_s"].to_numpy(), reference["share"].to_numpy()
    floor = gaps["floor"][0] if len(gaps) else None
    if floor is not None:
        for half, colour in ((floor + MARGIN, AIM_GREY), (floor, FLOOR_GREY)):
            low, high = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
            axis.fill_between(times, low, high, color=colour, linewidth=0)
    dashes = {label: look.dashes[1] or "" for label, look in source.looks.items()}
    data = points.select("time_s", "share", "source").to_dict(as_series=False)
    sns.lineplot(
        data,
        x="time_s",
        y="share",
        errorbar=None,
        estimator=None,
        dashes=dashes,
        linewidth=1.1,
        ax=axis,
        **source.styles(),
    )
    axis.set_xscale("log")
    seen = points.filter(pl.col("share") > 0)["time_s"].to_numpy()
    if len(seen):
        axis.set_xlim(seen.min(), seen.max())
        plain_log_ticks(axis)
    axis.set(ylim=(0, 1.02), xlabel="", ylabel="")
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    for line, row in enumerate(gaps.drop_nulls("ks").iter_rows(named=True)):
        axis.text(
            0.97,
            0.05 + 0.11 * line,
            f"{row['ks']:.2f}",
            transform=axis.transAxes,
            ha="right",
            size=SMALL_PT,
            color=source.looks[row["source"]].colour,
        )
