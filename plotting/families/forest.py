"""Paired differences against the baseline, as a forest plot.

In: differences.csv. Out: a panel for each kind and metric, on one axis, a line for each variant: the mean
over networks of the relative difference of medians, its 95 % interval (thick) and the simultaneous one
(thin); of two or three networks, the lowest and the highest (thin). The numbers stand beside the lines. An
interval that leaves the panel is cut, and ends in an arrow. Where no median is reached there is no panel, and
a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import polars as pl
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plotting.drawing.axes import change_axis, change_text
from plotting.drawing.facets import MARK, Facets, as_pandas, folded, levels_text
from plotting.drawing.palette import COLUMN_WIDTH_IN, GREY, SMALL_PT, TEXT_WIDTH_IN, THEME, canvas, nothing
from plotting.drawing.source import PlanFigure, Source, draw_perf, kind_title
from torsweep.runsets.plan_tables import SOURCE, at_levels
from torsweep.stats.streams.incidence import OPENING, clock_text
from torsweep.stats.text import SHOWN_METRICS

_LINE_IN, _MOST_IN = 0.16, 6.0
"""The height of a line, and of panels one below the other."""
_COLUMN_LETTERS, _MOST_LETTERS = 28, 40
"""How long the name of a line may be in a figure of one column, and in one line of text of a wider one."""
_INTERVALS = {"relative_simultaneous": 0.8, "relative": 2.4}
"""Each interval, and the width of its line in points."""
_EXTREME_WIDTHS = {"relative": 0.8}
"""Line widths of intervals of fewer networks than an interval of 95 % needs."""


_HOW_TO_READ = (
    "Each variant against the baseline, paired by network, relative to the baseline's median: left of "
    "zero is faster. If an interval crosses zero, either variant may be faster. Read the thick interval "
    "if you look at one line only, and the thin one if you compare all lines."
)


def draw_differences(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    points = source.summary("differences").filter(
        pl.col("metric").is_in(list(SHOWN_METRICS)), estimand="median"
    )
    variants = list(source.provenance.variants())
    compared = [variant for variant in variants if not at_levels(points, variant).is_empty()]
    things = {
        f"{kind_title(kind)}, {name}": points.filter(kind=kind, metric=metric)
        for kind, (metric, name) in product(source.kinds(), SHOWN_METRICS.items())
    }
    panels = {name: own for name, own in things.items() if own["relative"].is_not_null().any()}
    unreached = [name for name in things if name not in panels and compared]
    missing = [f"Median not reached: {'; '.join(unreached)}."] if unreached else []
    caption = source.caption(*_notes(source, variants, compared), *missing)
    if not panels:
        return nothing("No median is reached" if compared else "Nothing to compare", points, caption)
    lines = [folded(_name(source, variant), _MOST_LETTERS) for variant in compared]
    layout = _Layout.of(lines, len(panels), wide=SOURCE in source.knobs)
    figure = canvas(layout.width_in, layout.height_in, caption, *missing)
    placed = {name: _cut(own, points) for name, own in panels.items()}
    named = pl.concat(
        at_levels(own, variant).with_columns(line=pl.lit(line), panel=pl.lit(name))
        for (name, own), (variant, line) in product(placed.items(), zip(compared, lines, strict=True))
    )
    _plot(named, facets, list(panels), lines, source.few).facet(
        col="panel", order=list(panels), wrap=layout.columns
    ).on(figure).plot()
    for axis, name in zip(figure.axes, panels, strict=True):
        axis.set_title(name)
        values = [at_levels(panels[name], variant) for variant in compared]
        _write_values(axis, values, "extremes" if source.few else "95 %")
        change_axis(axis, layout.width_in / layout.columns / 2)
        axis.margins(x=0.08)
    return figure, points, caption


@dataclass(frozen=True)
class _Layout:
    """Panels one below the other, or in two columns where there are many lines or long names."""

    columns: int
    width_in: float
    height_in: float

    @classmethod
    def of(cls, lines: list[str], panels: int, *, wide: bool) -> _Layout:
        """The layout of so many panels with the names of their ``lines``."""
        text_lines = max(line.count("\n") + 1 for line in lines)
        panel_in = 0.35 + _LINE_IN * text_lines * len(lines)
        wide = wide or any(len(line) > _COLUMN_LETTERS for line in lines) or panel_in * panels > _MOST_IN
        columns = min(2, panels) if wide else 1
        width_in = TEXT_WIDTH_IN if wide else COLUMN_WIDTH_IN
        return cls(columns, width_in, 0.4 + panel_in * -(-panels // columns))


def _notes(source: Source, variants: list[dict[str, str]], compared: list[dict[str, str]]) -> Iterator[str]:
    for variant in [variant for variant in variants if variant not in compared][:1]:
        against = _name(source, variant, SOURCE)
        yield f"Change of the median, paired by network, against {against}. Times {clock_text(OPENING)}."
    if source.few:
        yield source.band_note()
    elif len(compared) == 1:
        yield "Lines: 95 % t-intervals over networks."
    else:
        yield f"Thick: 95 % t-interval over networks; thin: simultaneous over {len(compared)} variants."
    yield "Numbers: the mean and the thick interval, %." if len(compared) > 1 and not source.few else ""


def _write_values(axis: Axes, rows: list[pl.DataFrame], bounds: str) -> None:
    beside = axis.get_yaxis_transform()
    for height, row in enumerate(rows):
        ends = (row[name][0] for name in ("relative", "relative_low", "relative_high"))
        axis.text(1.04, height, change_text(*ends), transform=beside, va="center", size=SMALL_PT)
    above: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 3), "textcoords": "offset points"}
    axis.annotate(f"[{bounds}]", (1.04, 1), **above, size=SMALL_PT, color=GREY)


def _plot(points: pl.DataFrame, facets: Facets, panels: list[str], lines: list[str], few: bool) -> so.Plot:
    plot = (
        so.Plot(as_pandas(points), x="relative", y="line", color=facets.knob)
        .share(x=True)
        .scale(y=so.Nominal(order=lines), **facets.scales())
        .label(x="Change (%)", y="")
        .theme(THEME)
    )
    for name, width in (_EXTREME_WIDTHS if few else _INTERVALS).items():
        ends = {"xmin": f"{name}_low", "xmax": f"{name}_high"}
        plot = plot.add(so.Range(linewidth=width, linestyle="-"), **ends, orient="y", legend=False)
    for beyond, marker in (("beyond_low", "<"), ("beyond_high", ">")):
        plot = plot.add(so.Dot(marker=marker, pointsize=3.5), x=beyond, legend=False)
    return plot.add(MARK, marker=facets.knob, legend=False)


def _cut(rows: pl.DataFrame, every: pl.DataFrame) -> pl.DataFrame:
    """The rows of a panel with their intervals cut where they leave it, and where arrows stand. How far
    panels reach follows from ``every`` row."""
    low = -1.0
    high = max(1.0, 2.5 * float(every["relative"].abs().max() or 0.0))  # type: ignore[arg-type]
    farthest_low, farthest_high = (f"relative_simultaneous_{end}" for end in ("low", "high"))
    arrows = rows.with_columns(
        beyond_low=pl.when(pl.col(farthest_low) < low).then(low),
        beyond_high=pl.when(pl.col(farthest_high) > high).then(high),
    )
    bounds = [f"{name}_{end}" for name in _INTERVALS for end in ("low", "high")]
    return arrows.with_columns(pl.col(bounds).clip(low, high))


def _name(source: Source, variant: dict[str, str], but: str = "") -> str:
    """The levels that differ between variants, in words, leaving out the dimension ``but``."""
    varying = [knob for knob, levels in source.knobs.items() if len(levels) > 1] or list(variant)
    return levels_text({knob: variant[knob] for knob in varying if knob != but})


FIGURES = (
    PlanFigure(
        "differences",
        "Differences from the baseline",
        _HOW_TO_READ,
        ("differences", "outcomes"),
        draw_differences,
    ),
    PlanFigure(
        "perf_differences",
        "Differences from the baseline, perf clients",
        _HOW_TO_READ,
        ("perf_differences", "perf_outcomes", "outcomes"),
        partial(draw_perf, draw=draw_differences),
    ),
)
