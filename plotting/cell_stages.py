"""In which stage cells spend their time in a relay.

In: cell_times.csv and cell_load.csv. Out: the mean time of cells of quiet and of busy circuits by stage. A
row of panels for each traced relay, a column for each variant.
"""

from __future__ import annotations

from itertools import product

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plotting.drawing.facets import Facets, legend_above
from plotting.drawing.palette import GREY, SMALL_PT, TEXT_WIDTH_IN, canvas
from plotting.drawing.records import hosts_of, load_note, milliseconds, nothing_traced, section
from plotting.drawing.source import Source
from torsweep.config.knob import BLUE, GREEN, ORANGE
from torsweep.config.tracing import STAGES
from torsweep.runsets.reading import at_levels
from torsweep.stats.cell_times import ANY, TOTAL

TITLE = "In which stage cells spend their time"
HOW_TO_READ = (
    "The mean time of cells of busy and of quiet circuits in a relay, by stage: read and encrypted, in the "
    "queue of the circuit, in the output buffer. Panels of one relay have one scale."
)
NEEDS = ("cell_times", "cell_load", "outcomes")
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
"""Of the longest bar of a relay: a stage that nowhere takes more cannot be seen, and is not in the legend."""
_ROOM = 1.4
"""An axis is so many times as long as its longest bar, for the number behind that."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
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
