"""Streams that share a circuit: how evenly they were served, how far each has come, and when it was complete.

In: fairness.csv, progress.csv, clients.csv and shares.csv of a plan whose clients download in parallel. Out:
curves over the middle's bandwidth or the number of streams; a line for each stream of the first network; the
completion of each stream against its place in the order of opening, single networks small, means large.
"""

from __future__ import annotations

import re

import matplotlib
import polars as pl
import seaborn.objects as so
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.starvation.fairness import held_level
from plotting.drawing.facets import MARK, Facets, band, band_of, legend_above
from plotting.drawing.palette import GREY, TEXT_WIDTH_IN, canvas, knob_name, level_name
from plotting.drawing.source import PlanFigure, Source
from torsweep.engines.registry import find_engine
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.text import sources_of

_ALONG = {"middle_bandwidth": "Middle (KiB/s)", "streams": "Streams on the circuit"}
_ROWS = {"Jain's index": "jain", "Starved streams": "starved"}
_PER_KIB = {"KiB": 1.0, "KB": 1000 / 1024, "MiB": 1024.0, "MB": 1_000_000 / 1024, "": 1.0}


REPORT_CELLS = 10_000
"""Cells of a stream in the report; a plan with fewer says so."""


def notes(source: Source) -> list[str]:
    """Where the round trips come from, what was scaled down, and what starving means."""
    engines = [find_engine(one.engine) for one in sources_of(source.provenance)]
    made = dict.fromkeys(
        "emulated" if engine.real_time else "simulated" if engine.runs_tor else "modelled"
        for engine in engines
    )
    found = [f"Round trips: those of the network, {' or '.join(made)}."]
    cells = [level for level in source.knobs.get("cells", []) if int(level) < REPORT_CELLS]
    if cells:
        found.append(f"Scaled down from {REPORT_CELLS:,} cells per stream to {', '.join(cells)}.")
    return [*found, "Starved: less than a quarter of its cells when the first stream is complete."]


def held(source: Source) -> tuple[dict[str, str], str]:
    """The one level at which lines are kept, and a note where others are left out."""
    levels = held_level(source.knobs, source.baseline())
    return levels, "".join(f"{knob_name(knob)}: {level_name(level)}." for knob, level in levels.items())


def _stream_fairness(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """How evenly streams were served, against the middle's bandwidth or the number of streams."""
    varying = [knob for knob in _ALONG if len(source.knobs.get(knob, [])) > 1]
    along = varying[0] if varying else next(iter(_ALONG))
    facets = Facets.of({knob: levels for knob, levels in source.knobs.items() if knob != along})
    points = source.summary("fairness")
    caption = source.caption(*notes(source), source.band_note())
    figure = canvas(facets.width_in, 0.7 + 1.3 * len(_ROWS) * len(facets.rows), caption)
    placed = points.with_columns(along=pl.Series([amount(text) for text in points[along]], dtype=pl.Float64))
    things = {name: band_of(placed, number) for name, number in _ROWS.items()}
    plot = (
        facets.plot(facets.place(things), things, x="along", y="mean")
        .add(band(source), ymin="low", ymax="high", edgestyle=facets.knob, legend=False)
        .add(so.Line(linewidth=1), legend=False)
        .add(MARK, marker=facets.knob, legend=False)
        .share(y="row")
    )
    for panel in facets.put(plot, figure, things, _ALONG[along]):
        panel.axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if _ROWS[panel.thing] == "jain":
            panel.axis.set_ylim(-0.02, 1.02)
        else:
            panel.axis.set_ylim(-0.2, float(points["opened"].max()) + 0.2)  # type: ignore[arg-type]
            panel.axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    facets.legend(figure, marker=True, more=facets.of_bands(source))
    return figure, points, caption


def amount(level: str) -> float:
    """The number in a level: KiB/s of a rate, else what it says."""
    rate = re.fullmatch(r"([0-9.]+)(?:([KM]i?B)ps)?", level)
    if rate is None:
        raise ValueError(f"no amount in '{level}'")
    return float(rate[1]) * _PER_KIB[rate[2] or ""]


_LIGHTEST = 0.88
"""The part of viridis that stays apart from white ends here."""


def _stream_progress(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """Cells received against time, a line for each stream."""
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
    legend_above(figure, handles, 1.6, f"Stream, in order of opening (network of seed {seed})")
    return figure, points, caption


def _starved(clients: pl.DataFrame) -> str:
    """How many streams of each client starved, which is known only if one of them completed."""
    return ", ".join(
        "none complete" if starved is None else f"{starved} of {opened} starved"
        for starved, opened in clients.select("starved", "opened").iter_rows()
    )


_BESIDE = 0.6
"""How far the marks of the first and the last level stand apart, so that none covers another, and each is
nearer to its own stream than to the next."""
_MOST_TICKS = 15


def _stream_times(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """When each stream of a circuit was complete."""
    kept, kept_note = held(source)
    knobs = {knob: levels for knob, levels in source.knobs.items() if knob not in kept}
    facets = Facets.of(knobs)
    every = source.summary("shares").filter(
        *(pl.col(knob) == level for knob, level in kept.items()), pl.col("completed_s").is_not_null()
    )
    others = [knob for knob in knobs if knob != facets.knob]
    shared = pl.col(facets.knob).n_unique().over([*others, "seed"])
    every = every.filter(shared == shared.max().over(others) if others else shared == shared.max())
    last = max(len(facets.levels) - 1, 1)
    beside = {level: _BESIDE * (number / last - 0.5) for number, level in enumerate(facets.levels)}
    aside = pl.col(facets.knob).replace_strict(beside, return_dtype=pl.Float64)
    placed = every.with_columns(x=pl.col("opened") + aside)
    means = placed.group_by([*knobs, "opened", "x"], maintain_order=True).agg(pl.col("completed_s").mean())
    caption = source.caption(
        kept_note, "Large: means over the networks that all have; small: single networks.", *notes(source)
    )
    figure = canvas(TEXT_WIDTH_IN, 0.7 + 1.6 * len(facets.rows), caption)
    name = "Complete after (s)"
    points = pl.concat(
        [
            placed.select(*knobs, "x", single="completed_s", mean=pl.lit(None, pl.Float64)),
            means.select(*knobs, "x", single=pl.lit(None, pl.Float64), mean="completed_s"),
        ]
    )
    things = {name: points}
    plot = (
        facets.plot(facets.place(things), things, x="x")
        .add(so.Dot(pointsize=2, alpha=0.6, edgewidth=0), y="single", marker=facets.knob, legend=False)
        .add(so.Dot(pointsize=4, edgewidth=0), y="mean", marker=facets.knob, legend=False)
        .share(y=True)
        .limit(y=(0, None))
    )
    for panel in facets.put(plot, figure, things, "Stream, in order of opening"):
        panel.axis.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True))
    facets.legend(figure, marker=True, lines=False)
    return figure, means.drop("x"), caption


FIGURES = (
    PlanFigure(
        "stream_fairness",
        "Fairness among streams",
        "Jain's index of the streams' shares, and the number of streams that starved: an index of 1 says "
        "that all are served alike.",
        ("fairness", "outcomes"),
        _stream_fairness,
    ),
    PlanFigure(
        "stream_progress",
        "How far each stream has come",
        "Cells received against time on one network: one line for each stream, darker the earlier it was "
        "opened. Streams whose lines coincide are served alike.",
        ("progress", "clients", "outcomes"),
        _stream_progress,
    ),
    PlanFigure(
        "stream_times",
        "When each stream was complete",
        "Streams in the order in which they were opened: the lower a mark, the earlier the stream was "
        "complete.",
        ("shares", "outcomes"),
        _stream_times,
    ),
)
