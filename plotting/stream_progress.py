"""Cells received against time, a line for each stream.

In: progress.csv and clients.csv of a plan whose clients download in parallel. Out: a panel for each level of
the first knob that varies, rows for the others; a line for each stream of the first network, its colour by
the order of opening. A dotted line marks when the first stream is complete: at that time, starved streams are
counted.
"""

from __future__ import annotations

import matplotlib
import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.facets import Facets, legend_above
from plotting.drawing.palette import GREY, TEXT_WIDTH_IN, canvas
from plotting.drawing.records import held, notes
from plotting.drawing.source import Source
from torsweep.runsets.reading import at_levels

TITLE = "How far each stream has come"
HOW_TO_READ = (
    "Cells received against time on one network: one line for each stream, darker the earlier it was opened. "
    "Streams whose lines coincide are served alike."
)
NEEDS = ("progress", "clients", "outcomes")
_LIGHTEST = 0.88
"""The part of viridis that stays apart from white ends here."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    fixed, at_note = held(source)
    facets = Facets.of({knob: levels for knob, levels in source.knobs.items() if knob not in fixed}).spread()
    seed = source.provenance.seeds[0]
    clients = at_levels(source.summary("clients").filter(seed=seed), fixed)
    points = source.summary("progress")
    which = [f"Shown: the network of seed {seed}."] if len(source.provenance.seeds) > 1 else []
    caption = source.caption(at_note, *which, *notes(source))
    figure = canvas(TEXT_WIDTH_IN, 0.75 + 1.6 * len(facets.rows), caption)
    streams = range(1, int(clients["opened"].max()) + 1)  # type: ignore[arg-type]
    viridis = matplotlib.colormaps["viridis"]
    colours = {one: viridis(_LIGHTEST * (one - 1) / max(len(streams) - 1, 1)) for one in streams}
    things = {"Thousand cells": points.with_columns(thousands=pl.col("cells_received") / 1000)}
    plot = (
        facets.plot(facets.place(things), things, x="time_s", y="thousands", color="opened")
        .add(so.Path(linewidth=0.9), group="client", legend=False)
        .scale(color=so.Nominal(colours, order=list(streams)))
        .share(x=True, y=True)
        .limit(x=(0, None), y=(0, None))
    )
    for panel in facets.put(plot, figure, things, "Time (s)"):
        of_panel = at_levels(clients, panel.levels)
        for first_s in of_panel["first_completed_s"].drop_nulls():
            panel.axis.axvline(first_s, color=GREY, linewidth=0.6, linestyle=":")
        panel.axis.set_title("\n".join(filter(None, (panel.axis.get_title(), _starved(of_panel)))))
    handles = [Line2D([], [], color=colours[one], label=str(one)) for one in streams]
    legend_above(figure, handles, 1.6, "Stream, in order of opening")
    return figure, points, caption


def _starved(clients: pl.DataFrame) -> str:
    """How many streams of each client starved, which is known only if one of them completed."""
    return ", ".join(
        "none complete" if starved is None else f"{starved} of {opened} starved"
        for starved, opened in clients.select("starved", "opened").iter_rows()
    )
