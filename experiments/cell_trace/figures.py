"""How long cells stay in traced relays, over time and by stage.

In: cell_density.csv, cell_runs.csv, cell_times.csv and cell_load.csv. Out: a row of panels for each traced
relay, a column for each variant: the times of all cells of the first network as density, and the mean time of
cells of quiet and of busy circuits by stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import seaborn
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.cell_trace.cell_times import (
    ANY,
    BINS_PER_DECADE,
    LEAST_DECADE,
    MOST_DECADE,
    SECONDS_PER_BIN,
    SECTION,
    TOTAL,
)
from plotting.drawing.facets import Facets, as_pandas, legend_above
from plotting.drawing.palette import GREY, SMALL_PT, TEXT_WIDTH_IN, canvas, nothing
from plotting.drawing.source import PlanFigure, Source
from torsweep.config.knob import BLUE, GREEN, ORANGE
from torsweep.config.tracing import STAGES
from torsweep.runsets.plan_tables import at_levels

_COLOURS = "viridis_r"


def section(times: pl.DataFrame, circuits: str, command: str, stage: str) -> pl.DataFrame:
    """The rows of ``times`` for cells of these circuits and this command, whatever else they are."""
    wanted = dict(zip(SECTION, (circuits, ANY, command, ANY), strict=True)) | {"stage": stage}
    return times.filter(*(pl.col(name) == value for name, value in wanted.items()))


def hosts_of(frame: pl.DataFrame) -> list[str]:
    """The traced relays."""
    return frame["host"].unique().sort().to_list()


def load_note(source: Source) -> str:
    """A note: how much the relays sent and, if known, the share of a core that they used."""
    load = source.summary("cell_load")
    parts = []
    for host in hosts_of(load):
        own = load.filter(host=host)
        share = own["cpu_share"].drop_nulls().to_list()
        of_core = f" with at most {max(share):.0%} of a core" if share else ""
        parts.append(f"{host} sent {span(own['sent_mb_per_s'].to_list(), '.1f')} MB/s{of_core}")
    return "; ".join(parts) + "."


def span(values: Sequence[float], form: str) -> str:
    """The least and the greatest of ``values``, or the one number that they share."""
    return " to ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def milliseconds(value: float) -> str:
    """A time in ms with three digits and no exponent: < 0.001, 0.0123, 15.6, 2,140."""
    least = 10.0**LEAST_DECADE
    if value < least:
        return f"< {least:g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def nothing_traced(source: Source, points: pl.DataFrame) -> tuple[Figure, pl.DataFrame, str]:
    """The figure of a plan without cells to draw."""
    caption = source.caption("No traced relay sent a RELAY cell on in the measured time.")
    return nothing("No cells were traced", points, caption)


def _cell_density(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """How long cells stay in relays, over time."""
    points, times = source.summary("cell_density"), source.summary("cell_times")
    if points.is_empty():
        return nothing_traced(source, points)
    seed = source.provenance.seeds[0]
    counts = section(source.summary("cell_runs").filter(seed=seed), "all", ANY, TOTAL)["cell_count"]
    caption = source.caption(
        f"Density of RELAY cells by their time from the relay's input buffer to the kernel; network of seed "
        f"{seed}: {span(counts.to_list(), ',')} cells per panel. Lines: medians, as means over networks.",
        load_note(source),
    )
    hosts = {f"Time in {host} (ms)": host for host in hosts_of(points)}
    things = {name: points.filter(host=host) for name, host in hosts.items()}
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.7 * len(things) * len(facets.rows), caption)
    shades = LogNorm(1, max(*points["cell_count"].to_list(), 2))
    plot = facets.plot(facets.place(things), things, x="second", y="least_ms", color="host")
    for panel in facets.put(plot, figure, things, "Time since the start (s)"):
        _density(panel.axis, at_levels(things[panel.thing], panel.levels), points, shades)
        own = at_levels(times, panel.levels).filter(host=hosts[panel.thing])
        for median_ms in section(own, "all", ANY, TOTAL)["median_ms"]:
            _median(panel.axis, median_ms)
    # Axes are shared: a fifth of a decade below the shortest time, and above the longest.
    times_ms = points["least_ms"].to_numpy()
    figure.axes[0].set_ylim(times_ms.min() / 1.6, times_ms.max() * 1.8)
    shown = f"cells, network of seed {seed}"
    figure.colorbar(ScalarMappable(shades, _COLOURS), ax=figure.axes, shrink=0.6, pad=0.01, label=shown)
    return figure, points, caption


def _density(axis: Axes, own: pl.DataFrame, points: pl.DataFrame, shades: LogNorm) -> None:
    """Draw the cells of one panel; each bin is a pixel of an image, in PDF too."""
    seconds = points["second"].to_numpy()
    across = np.arange(seconds.min(), seconds.max() + 2 * SECONDS_PER_BIN, SECONDS_PER_BIN)
    bins = (MOST_DECADE - LEAST_DECADE) * BINS_PER_DECADE
    up = LEAST_DECADE + np.arange(bins + 1) / BINS_PER_DECADE
    # Bins are stated by where they begin: half a bin further on, no rounding puts them into their neighbour.
    middles = own.with_columns(pl.col("least_ms") * 10 ** (0.5 / BINS_PER_DECADE))
    counted = {"x": "second", "y": "least_ms", "weights": "cell_count", "bins": (across, up)}
    drawn = {"cmap": _COLOURS, "norm": shades, "vmin": None, "vmax": None, "rasterized": True}
    seaborn.histplot(as_pandas(middles), log_scale=(False, True), ax=axis, **counted, **drawn)
    axis.set_xlim(across[0], across[-1])
    axis.grid(visible=False)


def _median(axis: Axes, median_ms: float) -> None:
    # A logarithmic scale cannot show 0, the relaying time in a model where a relay's work takes no time.
    height = max(median_ms, 10.0**LEAST_DECADE)
    axis.axhline(height, color="black", linewidth=0.8)
    written = axis.annotate(
        f"{milliseconds(median_ms)} ms",
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        size=SMALL_PT,
        bbox={"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none", "alpha": 0.6},
    )
    written.set_in_layout(False)


_LOOKS = {
    "relaying": (ORANGE, "input buffer to queue"),
    "waiting": (BLUE, "in the circuit's queue"),
    "writing": (GREEN, "output buffer to kernel"),
}
_BARS = {
    "busy": ("busy", ANY),
    "quiet": ("quiet", ANY),
    "quiet, RELAY": ("quiet", "relay"),
    "quiet, RELAY_EARLY": ("quiet", "relay_early"),
}
"""The bars of a variant: the kind of circuits and the command of each."""
_LEAST_SHARE = 1e-3
"""A stage with no larger share of a relay's longest bar cannot be seen, and is not in the legend."""
_ROOM = 1.4
"""An axis is so many times as long as its longest bar, to leave room for the number behind the bar."""


def _cell_stages(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """In which stage cells spend their time in a relay."""
    times = source.summary("cell_times")
    if times.is_empty():
        return nothing_traced(source, times)
    caption = source.caption(
        "Mean time of RELAY cells in a relay, by stage, and its number. Quiet: circuits with at most the "
        "first quartile of cells per circuit; busy: with at least the third.",
        load_note(source),
    )
    there = {name: cells for name, cells in _BARS.items() if section(times, *cells, TOTAL).height}
    if "quiet, RELAY_EARLY" not in there:
        there.pop("quiet, RELAY", None)
    bars = [
        section(times, *cells, stage).with_columns(bar=pl.lit(name))
        for (name, cells), stage in product(there.items(), STAGES)
    ]
    things = {host: pl.concat(bars).filter(host=host) for host in hosts_of(times)}
    facets = Facets.of(source.knobs).spread()
    figure = canvas(TEXT_WIDTH_IN, 0.5 + 1.5 * len(things) * len(facets.rows), caption)
    plot = (
        facets.plot(facets.place(things), things, x="mean_ms", y="bar", color="stage")
        .add(so.Bar(alpha=1, edgewidth=0, width=0.7), so.Stack(), orient="y", legend=False)
        .scale(
            color=so.Nominal({stage: _LOOKS[stage][0] for stage in STAGES}, order=list(STAGES)),
            y=so.Nominal(order=list(there)),
        )
        .share(x="row")
    )
    whole = pl.concat([section(times, *cells, TOTAL) for cells in there.values()])
    reach = dict(whole.group_by("host").agg(pl.col("mean_ms").max()).iter_rows())
    for panel in facets.put(plot, figure, things, "Mean time (ms)"):
        own = at_levels(times, panel.levels).filter(host=panel.thing)
        for place, cells in enumerate(there.values()):
            mean = next(iter(section(own, *cells, TOTAL)["mean_ms"]), None)
            said = " none" if mean is None else f" {milliseconds(mean)}"
            panel.axis.text(mean or 0, place, said, va="center", size=SMALL_PT, color=GREY)
        panel.axis.set_xlim(0, _ROOM * reach[panel.thing])
    seen = set(pl.concat(bars).filter(pl.col("mean_ms") > _LEAST_SHARE * min(reach.values()))["stage"])
    shown = [Patch(color=_LOOKS[stage][0], label=_LOOKS[stage][1]) for stage in STAGES if stage in seen]
    legend_above(figure, shown, 1.2)
    return figure, times, caption


FIGURES = (
    PlanFigure(
        "cell_density",
        "How long cells stay in a relay",
        "RELAY cells that a traced relay sent on: across, when a cell arrived; upwards, how long it took "
        "until the kernel had it (logarithmic). Darker means more cells. The line is the median.",
        ("cell_density", "cell_times", "cell_runs", "cell_load", "outcomes"),
        _cell_density,
    ),
    PlanFigure(
        "cell_stages",
        "In which stage cells spend their time",
        "The mean time of cells of busy and of quiet circuits in a relay, by stage: read and encrypted, in "
        "the queue of the circuit, in the output buffer. Panels of one relay have one scale.",
        ("cell_times", "cell_load", "outcomes"),
        _cell_stages,
    ),
)
