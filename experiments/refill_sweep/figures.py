"""The first seconds of the web clients' time to first byte; and clients that got nothing for a long time.

In: closeup.csv; measures.csv. Out: for each clock a row of panels with a curve for each level of the first
knob. And a panel for each kind of client and each span (the last minute of the run, the whole measured time),
facets for the second knob and those after it; a mark for each level of the first knob: the mean over networks
and its 95 % interval, of shares of all clients.
"""

from __future__ import annotations

import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from experiments.refill_sweep.closeup import CLOSEUP_BYTE, CLOSEUP_KIND, longest_interval_s
from plotting.drawing.axes import seconds_formatter, share_axis, share_text
from plotting.drawing.facets import MARK, Facets, legend_above
from plotting.drawing.palette import GREY, canvas, knob_name, level_name, nothing
from plotting.drawing.source import PlanFigure, Source, kind_title
from torsweep.stats.streams.incidence import CLOCKS, METRICS


def _closeup(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The first seconds of the web clients' time to first byte, on a linear axis, where a stair-step shows.

    For each clock: the mean curve over networks, and a thin one for each network. Vertical lines are one
    refill interval apart (the longest), so a stair-step of that width repeats between each two lines.
    """
    facets, several = Facets.of(source.knobs), len(source.provenance.seeds) > 1
    points = source.summary("closeup")
    interval_s = longest_interval_s(source.knobs)
    until_s = float(points["time_s"].max() or 1)  # type: ignore[arg-type]
    notes = ["Thick: mean over networks; thin: each network."] if several else []
    if interval_s:
        notes.append(f"Vertical lines: {interval_s:g} s apart.")
    caption = source.caption(*notes)
    figure = canvas(facets.width_in, 0.75 + 1.55 * len(CLOCKS) * len(facets.rows), caption, *notes)
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


_SPANS = {
    "clients_stalled": "no byte in\nthe last minute",
    "clients_without_progress": "no byte in the\nmeasured time",
}
_ROW_IN = 1.2


def _clients_without_progress(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    facets = Facets.of(source.knobs)
    points = source.summary("measures").filter(pl.col("measure").is_in(list(_SPANS)))
    several = len(source.provenance.seeds) > 1
    caption = source.caption(
        "Marks: means over networks; lines: 95 % t-intervals over networks."
        if several
        else source.band_note()
    )
    if points.is_empty():
        engine = source.provenance.engine
        return nothing(f"{engine} does not say when clients got their latest byte", points, caption)
    placed = points.with_columns(level=pl.col(facets.knob).replace_strict(_names(facets)))
    things = {
        f"{kind_title(kind)} clients,\n{span}": placed.filter(measure=measure, group=kind)
        for kind in source.kinds()
        for measure, span in _SPANS.items()
    }
    stuck = {name: own for name, own in things.items() if (own["mean"] > 0).any()}
    none = [name.replace("\n", " ") for name, own in things.items() if name not in stuck and len(own)]
    missing = [f"None: {'; '.join(none)}."] if none else []
    caption = " ".join([caption, *missing])
    if not stuck:
        return nothing("Every client got something", points, caption)
    figure = canvas(facets.width_in, 0.7 + _ROW_IN * len(stuck) * len(facets.rows), caption, *missing)
    plot = (
        facets.plot(facets.place(stuck), stuck, x="level", y="mean")
        .add(so.Range(linewidth=1.4, linestyle="-"), ymin="mean_low", ymax="mean_high", legend=False)
        .add(MARK, marker=facets.knob, legend=False)
        .scale(x=so.Nominal(order=list(_names(facets).values())))
        .share(y=True)
    )
    for panel in facets.put(plot, figure, stuck, knob_name(facets.knob)):
        # A mark at zero is whole.
        panel.axis.set_ylim(bottom=-0.05 * panel.axis.get_ylim()[1])
        panel.axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        panel.axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: share_text(share)))
        panel.axis.margins(x=0.2)
    if several:
        mean = Line2D([], [], color=GREY, linestyle="", marker="o", markersize=3, label="mean")
        legend_above(figure, [mean, Line2D([], [], color=GREY, label="95 % interval")], handlelength=1.5)
    return figure, points, caption


def _names(facets: Facets) -> dict[str, str]:
    """The levels of the first knob as they stand below the axis."""
    return {level: level_name(level) for level in facets.levels}


FIGURES = (
    PlanFigure(
        "ttfb_closeup",
        "Time to first byte, the first seconds",
        "The shares of downloads that have their first byte, on a linear axis: above by the time from the "
        "opening of the SOCKS connection, below by that from the request, as OnionPerf and tornettools "
        "count. Thin curves are single networks. Steps at the same times in each network have a common "
        "cause; steps at different times are due to chance.",
        ("closeup", "outcomes"),
        _closeup,
    ),
    PlanFigure(
        "clients_without_progress",
        "Clients without progress",
        "The share of clients that got no payload byte in that time, although they had a download under way "
        "or never began one. Such a client adds nothing, or one download, to the median over downloads.",
        ("measures", "outcomes"),
        _clients_without_progress,
    ),
)
