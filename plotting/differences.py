"""Paired differences against the baseline, as a forest plot.

In: differences.csv. Out: a panel for each kind and metric, a line for each variant: the mean over networks of
the relative difference of medians, its 95 % interval (thick) and the simultaneous one (thin).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from plotting.drawing.facets import Facets, levels_text, say_nothing_is_here
from plotting.drawing.source import Source
from plotting.drawing.style import COLUMN_WIDTH_IN, GREY, canvas
from plotting.drawing.ticks import signed_percent
from torsweep.config.looks import Look

TITLE = "Differences from the baseline"
HOW_TO_READ = (
    "Each variant against the baseline, paired by network, relative to the baseline's median: left of zero "
    "is faster, and if an interval crosses zero, either variant may be faster. Read the thick interval if "
    "you look at a single line, the thin one if you compare all lines."
)
NEEDS = ("differences", "outcomes")

_METRICS = {"ttfb": "first byte", "ttlb": "last byte"}
_LINE_IN = 0.16
_INTERVAL = "interval"
"""The label by which the lines of intervals are found among an axis's lines."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets, kinds = Facets.of(source.knobs), source.kinds()
    points = source.summary("differences").filter(
        pl.col("estimand") == "median", pl.col("metric").is_in(list(_METRICS))
    )
    variants = list(source.provenance.variants())
    compared = [variant for variant in variants if not _rows(points, variant).is_empty()]
    baseline = [variant for variant in variants if variant not in compared]
    notes = [
        f"Change of the median, paired by network, against {_name(source, variant)}."
        for variant in baseline[:1]
    ]
    if len(source.provenance.seeds) > 1:
        notes.append(
            f"Thick: 95 % t-interval over networks; thin: simultaneous over {len(compared)} variants."
        )
    else:
        notes.append(source.band_note())
    caption = source.caption(*notes)
    height_in = 0.75 + len(kinds) * (0.35 + _LINE_IN * max(len(compared), 1))
    figure = canvas(COLUMN_WIDTH_IN, height_in, caption)
    axes = figure.subplots(len(kinds), 2, sharey=True, squeeze=False)
    for row, kind in zip(axes, kinds, strict=True):
        for axis, (metric, name) in zip(row, _METRICS.items(), strict=True):
            axis.set_title(f"{kind.capitalize()}, {name}")
            chosen = points.filter(pl.col("kind") == kind, pl.col("metric") == metric)
            for line, variant in enumerate(compared):
                _line(axis, line, _rows(chosen, variant), facets.look(variant[facets.knob]))
            _finish(axis, [_name(source, variant) for variant in compared])
            _keep_in_view(axis, chosen)
            if compared and chosen["relative"].is_null().all():
                say_nothing_is_here(axis, "median not reached")
    for axis in axes[-1]:
        axis.set_xlabel("Change (%)")
    return figure, points, caption


def _rows(points: pl.DataFrame, variant: dict[str, str]) -> pl.DataFrame:
    return points.filter(*(pl.col(knob) == level for knob, level in variant.items()))


def _name(source: Source, variant: dict[str, str]) -> str:
    """The levels that differ between variants, in words."""
    varying = [knob for knob, levels in source.knobs.items() if len(levels) > 1] or list(variant)
    return levels_text({knob: variant[knob] for knob in varying})


def _line(axis: Axes, line: int, rows: pl.DataFrame, drawn: Look) -> None:
    if rows.is_empty() or rows["relative"][0] is None:
        return
    row = rows.row(0, named=True)
    for name, width in (("relative_simultaneous", 0.8), ("relative", 2.4)):
        if row[f"{name}_low"] is not None:
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            (drawn_line,) = axis.plot(ends, [line, line], color=drawn.colour, linewidth=width, gid=_INTERVAL)
            drawn_line.set_solid_capstyle("butt")
    axis.plot(
        row["relative"],
        line,
        drawn.marker,
        color=drawn.colour,
        markersize=3.6,
        mec="white",
        mew=0.5,
        zorder=5,
    )


def _finish(axis: Axes, names: list[str]) -> None:
    axis.axvline(0, color=GREY, linewidth=0.7, zorder=1)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.grid(False, axis="y")
    axis.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda share, _: signed_percent(share)))
    axis.margins(x=0.08)


def _keep_in_view(axis: Axes, rows: pl.DataFrame) -> None:
    """Cut an interval of two or three networks, which can be tens of times as wide as its mean, at the edge
    of the panel, with an arrow."""
    farthest = float(np.nanmax(rows["relative"].cast(pl.Float64).abs().to_numpy(), initial=0.0))
    low, high = axis.get_xlim()
    low, high = axis.set_xlim(max(low, -1.0), min(high, max(1.0, 2.5 * farthest)))
    for interval in [line for line in axis.lines if line.get_gid() == _INTERVAL]:
        (left, right), (height, _) = np.asarray(interval.get_data(), dtype=float)
        for beyond, edge, arrow in ((left < low, low, "<"), (right > high, high, ">")):
            if beyond:
                axis.plot(edge, height, arrow, color=interval.get_color(), markersize=2.8, clip_on=False)
