"""How measures differ from the baseline: a forest plot, with a row of panels for each topic and a line for
each measure; and how what they count is spread: curves of build times, round trips, goodput and utilisation.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from plotting.drawing.axes import change_axis, plain_log_ticks, share_axis
from plotting.drawing.facets import MARK, Facets, as_pandas, band, folded, levels_text
from plotting.drawing.palette import COLUMN_WIDTH_IN, NORMAL_PT, TEXT_WIDTH_IN, THEME, canvas, nothing
from plotting.drawing.source import PlanFigure, Source
from torsweep.config.traffic import KIND_NAMES
from torsweep.network.model import POSITIONS
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.measures import ALL
from torsweep.stats.measures.distributions import DISTRIBUTIONS, Distribution
from torsweep.stats.measures.summary import group_text, measures_of

_LINE_IN, _TICKS_IN = 0.17, 0.42
_POINTS = " (points)"
"""How the name of a topic ends whose changes are in percentage points."""
_LEAST_SPAN = 0.05
"""A panel reaches at least this far to both sides of zero, so that small changes look small."""

_MOST_SPAN = 2.5
"""A panel reaches at most so many times as far as its largest change: longer intervals are cut."""


def _measures(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    baseline, facets = source.baseline(), Facets.of(source.knobs)
    held = {knob: baseline[knob] for knob in facets.rows[0]}
    points = at_levels(_drawn(source), held)
    varying = {knob: level for knob, level in baseline.items() if len(source.knobs[knob]) > 1} or baseline
    shown = [f"Only {levels_text(held)} is shown."] * bool(held)
    caption = source.caption(
        f"Change against {levels_text(varying)}, paired by network: shares in percentage points.",
        *shown,
        source.band_note()
        if source.few
        else "Lines: 95 % t-intervals over networks; those too long for the axis are cut.",
    )
    moving = pl.max_horizontal(pl.col("shown", "shown_low", "shown_high").abs().fill_null(0)).max() > 0
    still, points = (points.filter(keep.over("topic", "line")) for keep in (~moving, moving))
    lines = still.select("topic", "line").unique(maintain_order=True).rows()
    names = "; ".join(f"{topic.removesuffix(_POINTS).lower()} {line}" for topic, line in lines)
    missing = [f"The same in all: {names}."] if names else []
    caption = " ".join([caption, *missing])
    if points.is_empty():
        return nothing("No measure differs from the baseline", points, caption)
    topics = {topic: _placed(points.filter(topic=topic), facets) for topic in _each(points, "topic")}
    counts = [len(_each(of_topic, "line")) for of_topic in topics.values()]
    width_in = COLUMN_WIDTH_IN if len(facets.columns) == 1 else TEXT_WIDTH_IN
    height_in = 0.7 + _TICKS_IN * len(counts)
    for count in counts:
        height_in += _LINE_IN * count
    figure = canvas(width_in, height_in, caption, *missing)
    grid = figure.subplots(len(topics), len(facets.columns), height_ratios=counts, squeeze=False)
    for row, (topic, of_topic) in zip(grid, topics.items(), strict=True):
        for axis, column in zip(row, facets.columns, strict=True):
            _panel(axis, at_levels(of_topic, column), facets)
            _finish(axis, of_topic, named=axis is row[0])
            axis.set_xlabel("Change (points)" if topic.endswith(_POINTS) else "Change (%)")
        title = topic.removesuffix(_POINTS)
        row[0].set_title(title, loc="left", size=NORMAL_PT, weight="bold", x=0)
    for axis, column in zip(grid[0], facets.columns, strict=True):
        axis.set_title(folded(_against(column, baseline), 30))
    levels = [level for level in facets.levels if level in points[facets.knob]]
    facets.legend(figure, marker=True, dashed=False, levels=levels)
    return figure, points, caption


def _against(column: dict[str, str], baseline: dict[str, str]) -> str:
    """The levels of a column of panels, and which other ones its changes are against."""
    others = {knob: baseline[knob] for knob, level in column.items() if level != baseline[knob]}
    return levels_text(column) + (f", against {levels_text(others)}" if others else "")


def _drawn(source: Source) -> pl.DataFrame:
    """The rows that are drawn, with their topic and the name of their line; shares as parts. The relays of a
    position alone stand only in the table."""
    known = measures_of(source.provenance.experiment)
    names = {name: one for name, one in known.items() if one.drawn}
    drawn = source.summary("measure_differences").filter(
        pl.col("measure").is_in(list(names)),
        ~pl.col("group").is_in(POSITIONS),
        pl.col("change").is_not_null(),
    )
    scale = pl.when(pl.col("change_in") == "points").then(0.01).otherwise(1.0)
    label = pl.col("measure").replace_strict({name: one.label for name, one in names.items()})
    group = pl.col("group").replace_strict({one: group_text(one) for one in _each(drawn, "group")})
    # Per cent of a value and points of a share have no axis in common.
    unit = pl.when(pl.col("change_in") == "points").then(pl.lit(_POINTS)).otherwise(pl.lit(""))
    topic = pl.col("measure").replace_strict({name: one.topic for name, one in names.items()})
    return drawn.with_columns(
        topic=pl.concat_str(topic, unit),
        line=pl.concat_str(label, group),
        **{f"shown{end}": pl.col(f"change{end}") * scale for end in ("", "_low", "_high")},
    )


def _each(frame: pl.DataFrame, column: str) -> list[str]:
    return frame[column].unique(maintain_order=True).to_list()


def _placed(points: pl.DataFrame, facets: Facets) -> pl.DataFrame:
    """``points`` with their height ``y``: a line for each measure, in it the levels of the colour."""
    lines = {line: -float(number) for number, line in enumerate(_each(points, "line"))}
    drawn = [level for level in facets.levels if level in points[facets.knob]]
    step = 0.7 / len(drawn)
    levels = {level: 0.35 - step * (number + 0.5) for number, level in enumerate(drawn)}
    y = pl.col("line").replace_strict(lines) + pl.col(facets.knob).replace_strict(levels)
    return points.with_columns(y=y)


def _panel(axis: Axes, points: pl.DataFrame, facets: Facets) -> None:
    if points.is_empty():
        return
    ends = {"xmin": "shown_low", "xmax": "shown_high"}
    plot = (
        so.Plot(as_pandas(points), x="shown", y="y", color=facets.knob)
        .add(so.Range(linewidth=1.6, linestyle="-"), **ends, orient="y", legend=False)
        .add(MARK, marker=facets.knob, legend=False)
        .scale(**facets.scales())
        .label(x="", y="")
        .theme(THEME)
    )
    plot.on(axis).plot()


def _span(points: pl.DataFrame) -> float:
    """How far a panel with ``points`` reaches to both sides of zero."""
    bounds = (bound for name in ("shown", "shown_low", "shown_high") for bound in points[name].drop_nulls())
    farthest = 1.1 * max(map(abs, bounds))
    return max(_LEAST_SPAN, min(farthest, _MOST_SPAN * max(map(abs, points["shown"]))))


def _finish(axis: Axes, points: pl.DataFrame, *, named: bool) -> None:
    """Set the limits, ticks and line names of a panel with the points ``points``."""
    lines = _each(points, "line")
    span = _span(points)
    axis.set(xlim=(-min(span, 1.02), span), ylim=(-len(lines) + 0.5, 0.5))
    axis.set_yticks([-float(number) for number in range(len(lines))], lines if named else [""] * len(lines))
    change_axis(axis)


_ROW_IN = 1.4
FEWEST = 3
"""One or two downloads in a network are no curve, and several such networks give a band of any width."""


def _measure_cdfs(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    facets = Facets.of(source.knobs)
    every = source.summary("distributions")
    # A curve of one network of several is no mean, and has no interval.
    a_mean = pl.col("networks") >= min(2, len(source.provenance.seeds))
    of_panel = ("distribution", "group", *facets.rows[0], *facets.columns[0])
    points = every.filter(a_mean, pl.col("fewest").min().over(of_panel) >= FEWEST)
    few = [_thing(*one) for one in _things(every) if one not in _things(points)]
    too_few = [f"Too few for a curve: {', '.join(few)}."] if few else []
    caption = source.caption("Means over networks.", *too_few, source.band_note())
    if points.is_empty():
        said = too_few[0] if few else f"{source.provenance.engine} records none of these"
        return nothing(said, points, caption)
    rows: dict[str, tuple[Distribution, str]] = {}
    things: dict[str, pl.DataFrame] = {}
    for name, group in _things(points):
        thing = _thing(name, group)
        thing = thing[0].upper() + thing[1:]
        rows[thing] = (DISTRIBUTIONS[name], group_text(group))
        things[thing] = points.filter(distribution=name, group=group)
    figure = canvas(facets.width_in, 0.7 + _ROW_IN * len(things) * len(facets.rows), caption, *too_few)
    plot = (
        facets.plot(facets.place(things), things, x="value", y="share")
        .add(
            band(source), xmin="value_low", xmax="value_high", edgestyle=facets.knob, orient="y", legend=False
        )
        .add(so.Path(linewidth=1), legend=False)
        .share(x=False)
    )
    for panel in facets.put(plot, figure, things, "", "too few"):
        one, of_kind = rows[panel.thing]
        share_axis(panel.axis)
        panel.axis.set_xlabel(one.label.replace(" (", f"{of_kind} (") if of_kind else one.label)
        panel.axis.xaxis.label.set_visible(True)
        values = things[panel.thing]["value"].to_numpy()
        if one.logarithmic:
            panel.axis.set_xlim(values.min() * 0.9, values.max() * 1.15)
            panel.axis.set_xscale("log")
            plain_log_ticks(panel.axis)
        else:
            panel.axis.set_xlim(0, values.max() * 1.05)
            panel.axis.xaxis.set_major_locator(MaxNLocator(3))
            panel.axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    facets.legend(figure, more=facets.of_bands(source))
    return figure, points, caption


def _things(points: pl.DataFrame) -> list[tuple[str, str]]:
    return points.select("distribution", "group").unique(maintain_order=True).rows()


def _thing(distribution: str, group: str) -> str:
    """``circuits``, ``web downloads``."""
    of_kind = "" if group == ALL else f"{KIND_NAMES[group]} "
    return f"{of_kind}{DISTRIBUTIONS[distribution].thing}"


FIGURES = (
    PlanFigure(
        "measures",
        "Measures against the baseline",
        "Each measure against the baseline, paired by network: a mark is the mean change, its line the 95 % "
        "interval. If the line crosses zero, the measure may have risen or fallen. By chance alone, about "
        "one line in twenty excludes zero.",
        ("measure_differences", "outcomes"),
        _measures,
    ),
    PlanFigure(
        "measure_cdfs",
        "Build times, round trips, goodput and utilisation",
        "A point of a curve is the share of circuits, downloads or relays that are at or below that value: "
        "for times, further left is faster; for goodput, further right. Circuits that failed and downloads "
        "that are not complete are in no curve.",
        ("distributions", "outcomes"),
        _measure_cdfs,
    ),
)
