"""Where the time to a byte goes, for downloads that were followed.

In: breakdown_groups.csv, breakdown_time.csv and breakdown_path.csv. Out: what the first byte waits for under
each variant, as stacked bars of means; the same by percentile of the time to that byte, and against time; and
the way of one download, piece by piece. Parts are drawn by group; the groups' means add up to the whole's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import levels_text, say_nothing_is_here
from plotting.drawing.source import Source
from plotting.drawing.style import FAINT, GREY, SMALL_PT, TEXT_WIDTH_IN, canvas
from torsweep.config.looks import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from torsweep.config.ways import GROUP_OF, GROUPS, PLACES
from torsweep.stats.breakdown import ALL, SECONDS_PER_BIN, SLICES

_COLOURS = {
    "circuit": "#AAAAAA",
    "kernel": VERMILION,
    "circuit_queue": BLUE,
    "process": PURPLE,
    "bucket": ORANGE,
    "window": BLACK,
    "link_queue": SKY,
    "link": GREEN,
    "unknown": FAINT,
}
_NAMES = {
    "circuit": "waiting for a circuit",
    "kernel": "kernel",
    "circuit_queue": "circuit queue",
    "process": "a process's work",
    "bucket": "bucket",
    "window": "window",
    "link_queue": "queue of a link",
    "link": "link",
    "unknown": "not recorded",
}
_BYTE = "first"
_LEAST_SHARE = 1e-4
"""Of a bar: a group that nowhere has more of one cannot be seen, and is not in the legend."""

Drawn = tuple[Figure, pl.DataFrame, str]


def draw_means(source: Source) -> Drawn:
    """The mean time to the first byte by group: a bar for each variant, a panel for each kind of client."""
    means = source.summary("breakdown_groups")
    points = means.filter(pl.col("byte") == _BYTE, pl.col("slice") == ALL)
    if points.is_empty():
        return _nothing(source, points)
    kinds, variants = _kinds(source, points), list(source.provenance.variants())
    caption = source.caption(
        f"Mean time to the first byte by what it waited for; {_followed(points, kinds)}."
    )
    figure = canvas(TEXT_WIDTH_IN, 0.75 + 0.24 * len(variants), caption)
    axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)
    for axis, kind in zip(axes[0], kinds, strict=True):
        for place, variant in enumerate(variants):
            own = _chosen(points, variant, kind)
            _stack(axis, -place, _lengths(own, "mean_ms", 1e-3), across=True)
            whole_s = own["whole_ms"][0] / 1e3 if len(own) else 0.0
            said = f" {whole_s:.2f}" if len(own) else " none followed"
            axis.text(whole_s, -place, said, va="center", size=SMALL_PT, color=GREY)
        axis.set_title(kind)
        axis.set_xlabel("Mean time to first byte (s)")
        axis.margins(x=0.14)
        axis.set_xlim(left=0)
        axis.grid(visible=False, axis="y")
    axes[0][0].set_yticks([-place for place in range(len(variants))], [_variant(v) for v in variants])
    _legend(figure, _seen(points))
    return figure, points, caption


def draw_percentiles(source: Source) -> Drawn:
    """The same between percentiles of the time to the first byte, as shares: a panel for each variant."""
    means = source.summary("breakdown_groups")
    kinds = _kinds(source, means)
    points = means.filter(pl.col("byte") == _BYTE, pl.col("slice") != ALL, pl.col("kind").is_in(kinds[:1]))
    if points.is_empty():
        return _nothing(source, points)
    kind, slices = kinds[0], [name for name in SLICES if name != ALL]
    caption = source.caption(
        f"What the first byte of {kind} clients waited for whose time to it lies between two percentiles of "
        f"their run's, as shares of the mean, which stands above in s; {_followed(points, kinds[:1])}."
    )
    figure, axes = _panels(source, caption)
    for variant, axis in axes:
        own = _chosen(points, variant, kind)
        for place, name in enumerate(slices):
            bar = own.filter(pl.col("slice") == name, pl.col("whole_ms") > 0)
            if len(bar):
                _stack(axis, place, _lengths(bar, "share", 100), across=False)
                said = f"{bar['whole_ms'][0] / 1e3:.2g}"
                axis.text(place, 101, said, ha="center", size=SMALL_PT, color=GREY)
        axis.set_xticks(range(len(slices)), [name.replace("-", "–") for name in slices], rotation=60)
        axis.set_ylim(0, 114)
        axis.grid(visible=False, axis="x")
    _label(axes, "Percentile of the time", "Share (%)")
    _legend(figure, _seen(points))
    return figure, points, caption


def draw_over_time(source: Source) -> Drawn:
    """The same against the time when downloads were opened, on the first network."""
    time = source.summary("breakdown_time")
    kinds = _kinds(source, time)
    points = time.filter(pl.col("byte") == _BYTE, pl.col("kind").is_in(kinds[:1]))
    if points.is_empty():
        return _nothing(source, points)
    caption = source.caption(
        f"Mean time to the first byte of {kinds[0]} clients by what it waited for, of downloads opened "
        f"within "
        f"{SECONDS_PER_BIN} s; network of seed {source.provenance.seeds[0]}."
    )
    figure, axes = _panels(source, caption)
    for variant, axis in axes:
        for bar in _chosen(points, variant, kinds[0]).partition_by("second", maintain_order=True):
            middle, heights = bar["second"][0] + SECONDS_PER_BIN / 2, _lengths(bar, "mean_ms", 1e-3)
            _stack(axis, middle, heights, across=False, width=SECONDS_PER_BIN)
        axis.grid(visible=False, axis="x")
    _label(axes, "Opened at (s)", "Mean time (s)")
    _legend(figure, _seen(points))
    return figure, points, caption


def draw_waterfall(source: Source) -> Drawn:
    """The way of one download of each variant: time to the right, places downwards."""
    points = source.summary("breakdown_path")
    if points.is_empty():
        return _nothing(source, points)
    first = points.row(0, named=True)
    caption = source.caption(
        f"The way to the first byte of the {first['kind']} download with the median time to it; network of "
        f"seed "
        f"{first['seed']}."
    )
    figure, axes = _panels(source, caption, height_in=1.7)
    for variant, axis in axes:
        own = _chosen(points, variant)
        for row in own.iter_rows(named=True):
            axis.barh(
                -PLACES.index(row["place"]),
                row["duration_ms"] / 1e3,
                left=row["start_ms"] / 1e3,
                color=_COLOURS[GROUP_OF[row["part"]]],
                height=0.8,
            )
        axis.set_yticks([-place for place in range(len(PLACES))], PLACES)
    # Axes are shared: the limits are set once, when all is drawn.
    axes[0][1].set(ylim=(0.6 - len(PLACES), 0.6), xlim=(0, None))
    _label(axes, "Since the download was opened (s)", "")
    _legend(figure, {GROUP_OF[part] for part in points["part"]})
    return figure, points, caption


def _nothing(source: Source, points: pl.DataFrame) -> Drawn:
    caption = source.caption("The first byte of no followed download came in the measured time.")
    figure = canvas(TEXT_WIDTH_IN, 0.6, caption)
    figure.text(0.5, 0.7, "No download was followed", ha="center", color=GREY)
    return figure, points, caption


def _panels(
    source: Source, caption: str, height_in: float = 1.35
) -> tuple[Figure, list[tuple[dict[str, str], Axes]]]:
    """A panel for each variant: a column for each level of the first knob that varies."""
    variants = list(source.provenance.variants())
    varying = [levels for levels in source.knobs.values() if len(levels) > 1]
    columns = len(varying[0]) if varying and len(variants) % len(varying[0]) == 0 else 1
    rows = len(variants) // columns
    figure = canvas(TEXT_WIDTH_IN, 0.5 + height_in * rows, caption)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    axes = []
    for number, variant in enumerate(variants):
        axis = grid[number % rows, number // rows]
        axis.set_title(_variant(variant))
        axes.append((variant, axis))
    return figure, axes


def _label(axes: Sequence[tuple[Mapping[str, str], Axes]], below: str, beside: str) -> None:
    for _, axis in axes:
        place = axis.get_subplotspec()
        if place is not None and place.is_last_row():
            axis.set_xlabel(below)
        if place is not None and place.is_first_col() and beside:
            axis.set_ylabel(beside)
        if not axis.has_data():
            say_nothing_is_here(axis, "none followed")


def _stack(
    axis: Axes, place: float, lengths: Mapping[str, float], *, across: bool, width: float = 0.8
) -> None:
    """One bar of all groups."""
    end = 0.0
    for group in GROUPS:
        length = lengths.get(group, 0.0)
        if length > 0 and across:
            axis.barh(place, length, left=end, color=_COLOURS[group], height=width)
        elif length > 0:
            axis.bar(place, length, bottom=end, color=_COLOURS[group], width=width)
        end += length


def _lengths(bar: pl.DataFrame, column: str, factor: float) -> dict[str, float]:
    """``column`` of each group of a bar, in the unit of the axis."""
    return {group: factor * value for group, value in bar.select("group", column).iter_rows()}


def _seen(points: pl.DataFrame) -> set[str]:
    """The groups that can be seen in some bar."""
    return set(points.filter(pl.col("share") > _LEAST_SHARE)["group"])


def _legend(figure: Figure, groups: Set[str]) -> None:
    """The groups that are drawn, in their order."""
    handles = [Patch(color=_COLOURS[group], label=_NAMES[group]) for group in GROUPS if group in groups]
    columns = min(len(handles), 7)
    figure.legend(
        handles=handles, loc="outside upper center", ncols=columns, borderaxespad=0.1, handlelength=1.2
    )


def _kinds(source: Source, frame: pl.DataFrame) -> list[str]:
    found = set(frame["kind"])
    return [kind for kind in source.kinds() if kind in found]


def _chosen(frame: pl.DataFrame, variant: Mapping[str, str], kind: str | None = None) -> pl.DataFrame:
    chosen = [pl.col(knob) == level for knob, level in variant.items()]
    return frame.filter(*chosen, *([pl.col("kind") == kind] if kind else []))


def _variant(variant: dict[str, str]) -> str:
    return levels_text(variant)


def _followed(points: pl.DataFrame, kinds: Sequence[str]) -> str:
    """The numbers of downloads behind the bars: the smallest and the largest."""
    texts = []
    for kind in kinds:
        counts = points.filter(pl.col("kind") == kind)["downloads"].to_list()
        least, most = min(counts), max(counts)
        texts.append(
            f"{least:,} to {most:,} {kind} downloads" if least < most else f"{most:,} {kind} downloads"
        )
    return " and ".join(texts) + " a bar"
