"""How long cells stay in relays.

In: cell_density.csv, cell_runs.csv, cell_times.csv and cell_load.csv. Out: the times of all cells of the
first network against time, on a logarithmic scale and drawn as density; and in which stage cells of quiet and
of busy circuits spend theirs. A row of panels for each traced relay, a column for each variant or
stage.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import levels_text
from plotting.drawing.source import Source
from plotting.drawing.style import GREY, SMALL_PT, TEXT_WIDTH_IN, canvas
from torsweep.config.looks import BLUE, GREEN, ORANGE
from torsweep.config.tracing import STAGES
from torsweep.stats.cells.times import (
    ANY,
    BINS_PER_DECADE,
    LEAST_DECADE,
    MOST_DECADE,
    SECONDS_PER_BIN,
    SECTION,
    TOTAL,
)

_STAGE_COLOURS = {"relaying": ORANGE, "waiting": BLUE, "writing": GREEN}
_STAGE_WORDS = {
    "relaying": "input buffer to queue",
    "waiting": "in the circuit's queue",
    "writing": "output buffer to kernel",
}
_BARS = {
    "busy": ("busy", ANY),
    "quiet": ("quiet", ANY),
    "quiet, RELAY": ("quiet", "relay"),
    "quiet, RELAY_EARLY": ("quiet", "relay_early"),
}
"""The bars of a variant: the kind of circuits and the command of each."""


def draw_density(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    points, times = source.summary("cell_density"), source.summary("cell_times")
    if points.is_empty():
        return _nothing(source, points)
    hosts, variants = _hosts(points), list(source.provenance.variants())
    first = source.provenance.seeds[0]
    caption = source.caption(
        f"RELAY cells that a relay sent on, from its input buffer to the kernel, as density; network of seed "
        f"{first}: {_cells(source, first)} a panel. Lines: the median, mean over networks.",
        _load(source),
    )
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.7 * len(hosts), caption)
    axes = figure.subplots(len(hosts), len(variants), sharex=True, sharey=True, squeeze=False)
    most = max(*points["cell_count"].to_list(), 2)
    for (row, host), (column, variant) in product(enumerate(hosts), enumerate(variants)):
        axis = axes[row, column]
        own = _chosen(points, variant, host)
        drawn = _density(axis, own, most)
        for median in _section(_chosen(times, variant, host), "all", ANY, TOTAL)["median_ms"]:
            # A logarithmic scale cannot show 0, the relaying time in a model where a relay's work takes no
            # time.
            height = max(median, 10.0**LEAST_DECADE)
            axis.axhline(height, color="black", linewidth=0.8)
            written = axis.annotate(
                f"{median:.3g} ms",
                (1, height),
                xycoords=("axes fraction", "data"),
                xytext=(-2, 2),
                textcoords="offset points",
                ha="right",
                size=SMALL_PT,
            )
            written.set_in_layout(False)
        if row == 0:
            axis.set_title(levels_text(variant))
        if column == 0:
            axis.set_ylabel(f"In {host} (ms)")
    for axis in axes[-1]:
        axis.set_xlabel("Time (s)")
    # Axes are shared: a fifth of a decade below the shortest time, and above the longest.
    axes[0, 0].set_ylim(min(points["least_ms"].to_list()) / 1.6, max(points["least_ms"].to_list()) * 1.8)
    figure.colorbar(drawn, ax=axes, shrink=0.6, pad=0.01, label="cells")
    return figure, points, caption


def _nothing(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    caption = source.caption("No relay that was traced sent a RELAY cell on in the measured time.")
    figure = canvas(TEXT_WIDTH_IN, 0.6, caption)
    figure.text(0.5, 0.7, "No cells were traced", ha="center", color=GREY)
    return figure, points, caption


def _density(axis: Axes, own: pl.DataFrame, most: float) -> QuadMesh:
    """Draw the cells of one panel; each is a pixel of an image, in PDF too."""
    seconds_seen = own["second"].to_list()
    first, last = min(seconds_seen), max(seconds_seen)
    bins = (MOST_DECADE - LEAST_DECADE) * BINS_PER_DECADE
    counted = np.zeros((bins, (last - first) // SECONDS_PER_BIN + 1))
    place = np.rint((np.log10(own["least_ms"].to_numpy()) - LEAST_DECADE) * BINS_PER_DECADE).astype(int)
    counted[place, (own["second"].to_numpy() - first) // SECONDS_PER_BIN] = own["cell_count"].to_numpy()
    seconds = first + SECONDS_PER_BIN * np.arange(counted.shape[1] + 1)
    edges = 10.0 ** (LEAST_DECADE + np.arange(bins + 1) / BINS_PER_DECADE)
    drawn = axis.pcolormesh(
        seconds,
        edges,
        np.ma.masked_equal(counted, 0),
        norm=LogNorm(1, most),
        cmap="viridis_r",
        rasterized=True,
    )
    axis.set_yscale("log")
    axis.grid(visible=False)
    return drawn


def draw_stages(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    times = source.summary("cell_times")
    if times.is_empty():
        return _nothing(source, times)
    hosts, variants = _hosts(times), list(source.provenance.variants())
    caption = source.caption(
        "Mean time of RELAY cells in a relay, by stage; the number is the median. Quiet: circuits of no more "
        "cells than the first quartile of cells per circuit; busy: from the third on.",
        _load(source),
    )
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.5 * len(hosts), caption)
    axes = figure.subplots(len(hosts), len(variants), sharey=True, squeeze=False)
    shown = []
    for (row, host), (column, variant) in product(enumerate(hosts), enumerate(variants)):
        axis, own = axes[row, column], _chosen(times, variant, host)
        shown.append(own)
        _bars(axis, own)
        if row == 0:
            axis.set_title(levels_text(variant))
        if column == 0:
            axis.set_ylabel(host)
    for axis in axes[-1]:
        axis.set_xlabel("Mean time (ms)")
    handles = [Patch(color=_STAGE_COLOURS[stage], label=_STAGE_WORDS[stage]) for stage in STAGES]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), borderaxespad=0.1)
    return figure, pl.concat(shown), caption


def _bars(axis: Axes, own: pl.DataFrame) -> None:
    for place, (circuits, command) in enumerate(_BARS.values()):
        left = 0.0
        for stage in STAGES:
            width = next(iter(_section(own, circuits, command, stage)["mean_ms"]), 0.0)
            axis.barh(-place, width, left=left, color=_STAGE_COLOURS[stage], height=0.7)
            left += width
        medians = _section(own, circuits, command, TOTAL)["median_ms"]
        text = f" {medians[0]:.3g}" if len(medians) else " none"
        axis.text(left, -place, text, va="center", size=SMALL_PT, color=GREY)
    axis.set_yticks([-place for place in range(len(_BARS))], list(_BARS))
    axis.margins(x=0.25)
    axis.set_xlim(left=0)
    axis.grid(visible=False, axis="y")


def _section(times: pl.DataFrame, circuits: str, command: str, stage: str) -> pl.DataFrame:
    wanted = dict(zip(SECTION, (circuits, ANY, command, ANY), strict=True)) | {"stage": stage}
    return times.filter(*(pl.col(name) == value for name, value in wanted.items()))


def _chosen(frame: pl.DataFrame, variant: dict[str, str], host: str) -> pl.DataFrame:
    return frame.filter(*(pl.col(knob) == level for knob, level in variant.items()), pl.col("host") == host)


def _hosts(frame: pl.DataFrame) -> list[str]:
    return frame["host"].unique().sort().to_list()


def _cells(source: Source, seed: int) -> str:
    """How many cells the emptiest and the fullest panel of the density hold."""
    of_network = source.summary("cell_runs").filter(pl.col("seed") == seed)
    return f"{_range(_section(of_network, 'all', ANY, TOTAL)['cell_count'], ',')} cells"


def _load(source: Source) -> str:
    """What the relays sent and, where it is known, which share of a core that took."""
    load = source.summary("cell_load")
    parts = []
    for host in _hosts(load):
        own = load.filter(pl.col("host") == host)
        share = own["cpu_share"].drop_nulls().to_list()
        of_core = f" with {max(share):.0%} of a core at most" if share else ""
        parts.append(f"{host} sent {_range(own['sent_mb_per_s'], '.1f')} MB/s{of_core}")
    return "; ".join(parts) + "."


def _range(values: pl.Series, form: str) -> str:
    """The least and the greatest of what the panels show, or the one number that they share."""
    ends = [format(value, form) for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))
