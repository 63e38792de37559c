"""The first seconds of the web clients' time to first byte, where a stair-step shows.

In: closeup.csv. Out: for each clock, a panel for each facet on a linear axis; the mean curve over networks,
and a thin one for each network. Vertical lines are one refill interval apart (the longest), so a stair-step
of that width repeats between each two lines.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from plotting.drawing.axes import seconds_formatter, share_axis
from plotting.drawing.facets import Facets
from plotting.drawing.palette import canvas
from plotting.drawing.source import Source, kind_title
from torsweep.stats.streams.curves import CLOSEUP_BYTE, CLOSEUP_KIND, longest_interval_s
from torsweep.stats.streams.incidence import CLOCKS, METRICS

TITLE = "Time to first byte, the first seconds"
HOW_TO_READ = (
    "The shares of downloads that have their first byte, on a linear axis: above by the time from the "
    "opening of the SOCKS connection, below by that from the request, as OnionPerf and tornettools count. "
    "Thin curves are single networks. Steps at the same times in each network have a common cause; steps at "
    "different times are due to chance."
)
NEEDS = ("closeup", "outcomes")


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets, several = Facets.of(source.knobs), len(source.provenance.seeds) > 1
    points = source.summary("closeup")
    interval_s = longest_interval_s(source.knobs)
    until_s = float(points["time_s"].max() or 1)  # type: ignore[arg-type]
    notes = ["Thick: mean over networks; thin: each network."] if several else []
    if interval_s:
        notes.append(f"Vertical lines: {interval_s:g} s apart.")
    caption = source.caption(*notes)
    figure = canvas(facets.width_in, 0.75 + 1.55 * len(CLOCKS) * len(facets.rows), caption)
    # The mean over networks has no seed.
    mean = pl.when(pl.col("seed").is_null()).then("share")
    things = {
        f"{kind_title(CLOSEUP_KIND)} downloads,\nfrom the {clock}": points.filter(clock=clock).with_columns(
            mean=mean
        )
        for clock in CLOCKS
    }
    plot = facets.plot(facets.place(things), things, x="time_s", y="share")
    if several:
        plot = plot.add(so.Paths(linewidth=0.3, alpha=0.45, linestyle="-"), group="seed", legend=False)
    plot = plot.add(so.Path(), y="mean", legend=False)
    for panel in facets.put(plot, figure, things, f"{METRICS[CLOSEUP_BYTE].label} (s)"):
        share_axis(panel.axis)
        panel.axis.set_xlim(0, until_s)
        if interval_s and until_s / interval_s <= 12:
            panel.axis.xaxis.set_major_locator(MultipleLocator(interval_s))
        panel.axis.xaxis.set_major_formatter(seconds_formatter())
    facets.legend(figure)
    return figure, points, caption
