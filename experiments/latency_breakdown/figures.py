"""What followed downloads wait for until their first byte.

In: breakdown_groups.csv, breakdown_time.csv and breakdown_path.csv. Out: mean times by what was waited for,
under each variant, between percentiles and over time; and one download, piece by piece.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.latency_breakdown.breakdown import ALL_DOWNLOADS, SECONDS_PER_SLOT, SLICES
from plotting.drawing.facets import Facets, as_pandas, legend_above, levels_text
from plotting.drawing.palette import FAINT, GREY, SMALL_PT, TEXT_WIDTH_IN, THEME, canvas, nothing
from plotting.drawing.source import PlanFigure, Source, kind_title
from torsweep.config.knob import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from torsweep.config.tracing import GROUP_OF, GROUPS, PLACES
from torsweep.runsets.plan_tables import at_levels

FIRST = "first"
"""The byte that figures are about."""

BAR = so.Bar(alpha=1, edgewidth=0)
_LOOKS = {
    "circuit": ("#AAAAAA", "waiting for a circuit"),
    "kernel": (VERMILION, "kernel"),
    "circuit_queue": (BLUE, "circuit queue"),
    "process": (PURPLE, "a process's work"),
    "bucket": (ORANGE, "bucket"),
    "window": (BLACK, "window"),
    "link_queue": (SKY, "queue of a link"),
    "link": (GREEN, "link"),
    "unknown": (FAINT, "not recorded"),
}
"""Colour and name of each group."""

SCALE = so.Nominal({group: _LOOKS[group][0] for group in GROUPS}, order=list(GROUPS))
_LEAST_SHARE = 1e-4
"""A group that has no larger share of any bar cannot be seen, and is not in the legend."""


def kinds_of(source: Source, points: pl.DataFrame) -> list[str]:
    """The kinds of client in ``points``, in the order of figures."""
    return [kind for kind in source.kinds() if kind in set(points["kind"])]


def followed(points: pl.DataFrame, kinds: Sequence[str]) -> str:
    """The numbers of downloads behind the bars: the smallest and the largest."""
    texts = []
    for kind in kinds:
        counts = points.filter(kind=kind)["downloads"].to_list()
        numbers = " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
        texts.append(f"{numbers} {kind} downloads")
    return " and ".join(texts) + " per bar"


def seen(points: pl.DataFrame) -> set[str]:
    """The groups that can be seen in some bar."""
    return set(points.filter(pl.col("share") > _LEAST_SHARE)["group"])


def legend(figure: Figure, groups: Container[str]) -> None:
    """The groups that are drawn, in their order."""
    legend_above(
        figure, [Patch(color=_LOOKS[one][0], label=_LOOKS[one][1]) for one in GROUPS if one in groups], 1.2
    )


def nothing_followed(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without downloads to draw."""
    caption = source.caption("No followed download got its first byte in the measured time.")
    return nothing("No download was followed", points, caption)


def _latency_breakdown(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """What the first byte waits for under each variant."""
    points = source.summary("breakdown_groups").filter(byte=FIRST, slice=ALL_DOWNLOADS)
    if points.is_empty():
        return nothing_followed(source, points)
    kinds, variants = kinds_of(source, points), list(source.provenance.variants())
    caption = source.caption(f"Mean time to the first byte by what it waited for; {followed(points, kinds)}.")
    figure = canvas(TEXT_WIDTH_IN, 0.75 + 0.24 * len(variants), caption)
    named = [
        at_levels(points, variant).with_columns(variant=pl.lit(levels_text(variant))) for variant in variants
    ]
    bars = pl.concat(named).with_columns(mean_s=pl.col("mean_ms") / 1000)
    plot = (
        so.Plot(as_pandas(bars), x="mean_s", y="variant", color="group")
        .facet(col="kind", order=kinds)
        .add(BAR, so.Stack(), orient="y", legend=False)
        .scale(color=SCALE, y=so.Nominal(order=[levels_text(variant) for variant in variants]))
        .share(x=True)
        .label(x="Mean time to first byte (s)", y="")
        .theme(THEME)
    )
    plot.on(figure).plot()
    for axis, kind in zip(figure.axes, kinds, strict=True):
        for place, variant in enumerate(variants):
            whole_s = next(iter(at_levels(points, variant).filter(kind=kind)["whole_ms"] / 1000), None)
            said = " none followed" if whole_s is None else f" {whole_s:.2f}"
            axis.text(whole_s or 0, place, said, va="center", size=SMALL_PT, color=GREY)
        axis.set_title(f"{kind_title(kind)} clients")
        axis.margins(x=0.14)
        axis.set_xlim(left=0)
    legend(figure, seen(points))
    return figure, points, caption


_SLICES = [name.replace("-", "–") for name in SLICES if name != ALL_DOWNLOADS]


def _latency_percentiles(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """What the first byte waits for in fast and in slow downloads."""
    means = source.summary("breakdown_groups")
    kinds = kinds_of(source, means)[:1]
    points = means.filter(pl.col("slice") != ALL_DOWNLOADS, pl.col("kind").is_in(kinds), byte=FIRST)
    if points.is_empty():
        return nothing_followed(source, points)
    caption = source.caption(
        f"What the first byte waited for in downloads of {kinds[0]} clients between two percentiles of their "
        f"run's times to first byte, as shares of the mean (above each bar, in s); {followed(points, kinds)}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.35 * len(facets.rows), caption)
    percent, slices = 100 * pl.col("share"), pl.col("slice").str.replace("-", "–")
    known = points.filter(pl.col("whole_ms") > 0).with_columns(percent=percent, slice=slices)
    things = {"Share (%);\nabove: mean (s)": known}
    plot = (
        facets.plot(facets.place(things), things, x="slice", y="percent", color="group")
        .add(BAR, so.Stack(), orient="x", legend=False)
        .scale(color=SCALE, x=so.Nominal(order=_SLICES))
        .limit(y=(0, 114))
    )
    for panel in facets.put(plot, figure, things, "Percentile of the time", "none followed"):
        panel.axis.tick_params(axis="x", rotation=60)
        own = at_levels(things[panel.thing], panel.levels).select("slice", pl.col("whole_ms") / 1000)
        for name, whole_s in own.unique(maintain_order=True).iter_rows():
            where = _SLICES.index(name), 101
            panel.axis.text(*where, f"{whole_s:.2g}", ha="center", size=SMALL_PT, color=GREY)
    legend(figure, seen(points))
    return figure, points, caption


def _latency_over_time(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """What the first byte waits for, over time."""
    time = source.summary("breakdown_time")
    kinds = kinds_of(source, time)[:1]
    points = time.filter(pl.col("kind").is_in(kinds), byte=FIRST)
    if points.is_empty():
        return nothing_followed(source, points)
    caption = source.caption(
        f"Mean time to the first byte of {kinds[0]} clients by what it waited for, of downloads opened "
        f"within {SECONDS_PER_SLOT} s; network of seed {source.provenance.seeds[0]}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.35 * len(facets.rows), caption)
    middle, mean = pl.col("second") + SECONDS_PER_SLOT / 2, pl.col("mean_ms") / 1000
    things = {"Mean time (s)": points.with_columns(middle=middle, mean_s=mean)}
    plot = (
        facets.plot(facets.place(things), things, x="middle", y="mean_s", color="group")
        .add(replace(BAR, width=1), so.Stack(), orient="x", legend=False)
        .scale(color=SCALE)
    )
    opened = f"Opened at (s), seed {source.provenance.seeds[0]}"
    for panel in facets.put(plot, figure, things, opened, "none followed"):
        panel.axis.grid(visible=False, axis="x")
    legend(figure, seen(points))
    return figure, points, caption


_LEAST_PIECE = 2e-3
"""Pieces with a smaller share of the longest download cannot be seen, and are not in the legend."""
# Without smoothing, neighbouring pieces of one group have no seam between them.
_PIECE = so.Range(linewidth=8, linestyle="-", artist_kws={"antialiaseds": [False], "capstyle": "butt"})


def _latency_waterfall(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """One download of each variant, piece by piece."""
    points = source.summary("breakdown_path")
    if points.is_empty():
        return nothing_followed(source, points)
    kind, seed = points["kind"][0], points["seed"][0]
    caption = source.caption(
        f"The time to first byte, in pieces, of the {kind} download for which it is the median; network of "
        f"seed {seed}."
    )
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.7 * len(facets.rows), caption)
    begin, spent = pl.col("start_ms") / 1000, pl.col("duration_ms") / 1000
    pieces = points.with_columns(begin=begin, end=begin + spent, group=pl.col("part").replace(GROUP_OF))
    things = {"": pieces}
    plot = (
        facets.plot(facets.place(things), things, x="begin", y="place", color="group")
        .add(_PIECE, xmin="begin", xmax="end", orient="y", group="step", legend=False)
        .scale(color=SCALE, y=so.Nominal(order=list(PLACES)))
        .limit(x=(0, None))
    )
    for panel in facets.put(plot, figure, things, f"Since the opening (s), seed {seed}", "none followed"):
        panel.axis.grid(visible=True, axis="y")
    visible = pieces.filter(pl.col("end") - pl.col("begin") > _LEAST_PIECE * pl.col("end").max())
    legend(figure, set(visible["group"]))
    return figure, points, caption


FIGURES = (
    PlanFigure(
        "latency_breakdown",
        "Where the first byte waits",
        "The mean time to the first byte of followed downloads, by what they waited for at each moment. The "
        "parts of a download add up to its time exactly. Time in a queue is the queue's, whatever made the "
        "queue long.",
        ("breakdown_groups", "outcomes"),
        _latency_breakdown,
    ),
    PlanFigure(
        "latency_percentiles",
        "Where fast and slow downloads wait",
        "Each bar shows what the first byte waited for in downloads between two percentiles of the time to "
        "first byte. The parts that grow from left to right make slow downloads slow. The number above a "
        "bar is the mean in seconds.",
        ("breakdown_groups", "outcomes"),
        _latency_percentiles,
    ),
    PlanFigure(
        "latency_over_time",
        "Where the first byte waits, over time",
        "What the first byte waited for, by when the download was opened, in steps of ten seconds, on the "
        "first network. A part that comes in bursts shows as peaks of its colour.",
        ("breakdown_time", "outcomes"),
        _latency_over_time,
    ),
    PlanFigure(
        "latency_waterfall",
        "One download, piece by piece",
        "The time to first byte of one download (the median one of the first network) in pieces, each at the "
        "place where it was spent. Time runs to the right.",
        ("breakdown_path", "outcomes"),
        _latency_waterfall,
    ),
)
