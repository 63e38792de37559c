"""Paired differences against the baseline, as a forest plot.

In: differences.csv. Out: a panel for each kind and metric, a line for each variant: the mean over networks of
the relative difference of medians, its 95 % interval (thick) and the simultaneous one (thin); of two or three
networks, the lowest and the highest (thin). An interval that leaves the panel is cut, and ends in an arrow.
"""

from __future__ import annotations

from itertools import product

import polars as pl
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.drawing.axes import change_axis, say_nothing_is_here
from plotting.drawing.facets import MARK, Facets, as_pandas, folded, levels_text
from plotting.drawing.source import Source, kind_title
from plotting.drawing.style import COLUMN_WIDTH_IN, TEXT_WIDTH_IN, THEME, canvas
from torsweep.runsets.reading import SOURCE, at_levels
from torsweep.stats.streams.incidence import OPENING, clock_text

_METRICS = {"ttfb": "first byte", "ttlb": "last byte"}
_LINE_IN = 0.16
_COLUMN_LETTERS, _MOST_LETTERS = 28, 40
"""How long the name of a line may be in a figure of one column, and in one line of text of a wider one."""
_INTERVALS = {"relative_simultaneous": 0.8, "relative": 2.4}
"""Each interval, and the width of its line in points."""
_EXTREMES = {"relative": 0.8}
"""The same of a few networks."""


def how_to_read() -> str:
    """How such a figure is read."""
    return (
        "Each variant against the baseline, paired by network, relative to the baseline's median: left of "
        "zero is faster. If an interval crosses zero, either variant may be faster. Read the thick interval "
        "if you look at one line only, and the thin one if you compare all lines."
    )


def draw_differences(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets, kinds = Facets.of(source.knobs), source.kinds()
    points = source.summary("differences").filter(pl.col("metric").is_in(list(_METRICS)), estimand="median")
    variants = list(source.provenance.variants())
    compared = [variant for variant in variants if not at_levels(points, variant).is_empty()]
    baseline = [variant for variant in variants if variant not in compared]
    notes = [
        f"Change of the median, paired by network, against {_name(source, variant, SOURCE)}. "
        f"Times {clock_text(OPENING)}."
        for variant in baseline[:1]
    ]
    several = f"Thick: 95 % t-interval over networks; thin: simultaneous over {len(compared)} variants."
    if len(compared) == 1:
        several = "Lines: 95 % t-intervals over networks."
    notes.append(source.band_note() if source.few else several)
    caption = source.caption(*notes)
    lines = [folded(_name(source, variant), _MOST_LETTERS) for variant in compared]
    text_lines = max((line.count("\n") + 1 for line in lines), default=1)
    height_in = 0.75 + len(kinds) * (0.35 + _LINE_IN * text_lines * max(len(compared), 1))
    # Names of sources, and long names, take the room of a panel.
    wide = SOURCE in source.knobs or any(len(line) > _COLUMN_LETTERS for line in lines)
    figure = canvas(TEXT_WIDTH_IN if wide else COLUMN_WIDTH_IN, height_in, caption)
    panels = list(product(kinds, _METRICS))
    placed = [_cut(points.filter(kind=kind, metric=metric)) for kind, metric in panels]
    named = [
        at_levels(frame, variant).with_columns(line=pl.lit(folded(_name(source, variant), _MOST_LETTERS)))
        for frame, variant in product(placed, compared or variants)
    ]
    _plot(pl.concat(named), facets, kinds, lines, _EXTREMES if source.few else _INTERVALS).on(figure).plot()
    for axis, (kind, metric), frame in zip(figure.axes, panels, placed, strict=True):
        _finish(axis)
        axis.set_title(f"{kind_title(kind)}, {_METRICS[metric]}")
        if compared and frame["relative"].is_null().all():
            axis.set_xlim(-1, 1)
            say_nothing_is_here(axis, "median\nnot reached")
    return figure, points, caption


def _plot(
    points: pl.DataFrame, facets: Facets, kinds: list[str], lines: list[str], ranges: dict[str, float]
) -> so.Plot:
    plot = (
        so.Plot(as_pandas(points), x="relative", y="line", color=facets.knob)
        .facet(col="metric", row="kind", order={"col": list(_METRICS), "row": kinds})
        .share(x=False)
        .scale(y=so.Nominal(order=lines), **facets.scales())
        .label(x="Change (%)", y="")
        .theme(THEME)
    )
    for name, width in ranges.items():
        ends = {"xmin": f"{name}_low", "xmax": f"{name}_high"}
        plot = plot.add(so.Range(linewidth=width, linestyle="-"), **ends, orient="y", legend=False)
    for beyond, marker in (("beyond_low", "<"), ("beyond_high", ">")):
        plot = plot.add(so.Dot(marker=marker, pointsize=3.5), x=beyond, legend=False)
    return plot.add(MARK, marker=facets.knob, legend=False)


def _cut(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a panel with their intervals cut where they leave it, and where arrows stand."""
    low = -1.0
    high = max(1.0, 2.5 * float(rows["relative"].abs().max() or 0.0))  # type: ignore[arg-type]
    farthest_low, farthest_high = (f"relative_simultaneous_{end}" for end in ("low", "high"))
    arrows = rows.with_columns(
        beyond_low=pl.when(pl.col(farthest_low) < low).then(low),
        beyond_high=pl.when(pl.col(farthest_high) > high).then(high),
    )
    bounds = [f"{name}_{end}" for name in _INTERVALS for end in ("low", "high")]
    return arrows.with_columns(pl.col(bounds).clip(low, high))


def _name(source: Source, variant: dict[str, str], but: str = "") -> str:
    """The levels that differ between variants, in words, without that of the dimension ``but``."""
    varying = [knob for knob, levels in source.knobs.items() if len(levels) > 1] or list(variant)
    return levels_text({knob: variant[knob] for knob in varying if knob != but})


def _finish(axis: Axes) -> None:
    change_axis(axis, ticks=3)
    axis.margins(x=0.08)
