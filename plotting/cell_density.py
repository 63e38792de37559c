"""How long cells stay in relays, over time.

In: cell_density.csv, cell_runs.csv, cell_times.csv and cell_load.csv. Out: the times of all cells of the
first network against time, on a logarithmic scale and drawn as density. A row of panels for each traced
relay, a column for each variant.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import seaborn
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from plotting.drawing.facets import Facets, as_pandas
from plotting.drawing.palette import SMALL_PT, TEXT_WIDTH_IN, canvas
from plotting.drawing.records import hosts_of, load_note, milliseconds, nothing_traced, section, span
from plotting.drawing.source import Source
from torsweep.runsets.reading import at_levels
from torsweep.stats.cell_times import ANY, BINS_PER_DECADE, LEAST_DECADE, MOST_DECADE, SECONDS_PER_BIN, TOTAL

TITLE = "How long cells stay in a relay"
HOW_TO_READ = (
    "RELAY cells that a traced relay sent on: across, when a cell arrived; upwards, how long it took until "
    "the kernel had it (logarithmic). Darker means more cells. The line is the median."
)
NEEDS = ("cell_density", "cell_times", "cell_runs", "cell_load", "outcomes")
_COLOURS = "viridis_r"


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
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
    figure.colorbar(ScalarMappable(shades, _COLOURS), ax=figure.axes, shrink=0.6, pad=0.01, label="cells")
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
