"""Cells received against time, a line for each stream.

In: progress.csv and clients.csv of a plan whose clients download in parallel. Out: a panel for each level of
the first knob that varies, rows for the others; a line for each stream of the first network, its colour by
the order of opening. A dotted line marks when the first stream is complete: at that time, starved streams are
counted.
"""

from __future__ import annotations

from typing import Any

import matplotlib
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.facets import Facets, levels_text
from plotting.drawing.source import Source
from plotting.drawing.streams import at, held, notes
from plotting.drawing.style import GREY, TEXT_WIDTH_IN, canvas

TITLE = "How far each stream is"
HOW_TO_READ = (
    "Cells received against time on one network: one line for each stream, darker the earlier it was opened. "
    "Streams whose lines coincide are served alike."
)
NEEDS = ("progress", "clients", "outcomes")

_DARKEST, _LIGHTEST = 0.0, 0.88
"""The part of viridis that stays apart from white."""


def draw(source: Source) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption."""
    fixed, at_note = held(source)
    knobs = {knob: levels for knob, levels in source.knobs.items() if knob not in fixed}
    panels_of, rows_of = _grid(knobs)
    seed = source.provenance.seeds[0]
    clients = at(source.summary("clients").filter(pl.col("seed") == seed), fixed)
    points = source.summary("progress")
    which = [f"Shown: the network of seed {seed}."] if len(source.provenance.seeds) > 1 else []
    caption = source.caption(at_note, *which, *notes(source))
    figure = canvas(TEXT_WIDTH_IN, 0.75 + 1.6 * len(rows_of), caption)
    axes = figure.subplots(len(rows_of), len(panels_of), sharex="row", sharey="row", squeeze=False)
    most = int(clients["opened"].max())  # type: ignore[arg-type]
    for row, line in zip(rows_of, axes, strict=True):
        for column, axis in zip(panels_of, line, strict=True):
            levels = {**row, **column}
            own = at(clients, levels)
            _panel(axis, at(points, levels), own, most)
            axis.set_title("\n".join(filter(None, (levels_text(column), _starved(own)))))
        line[0].set_ylabel("\n".join(filter(None, ("Thousand cells", levels_text(row)))))
    for axis in axes.ravel():
        axis.set_ylim(bottom=0)
        axis.set_xlim(left=0)
    for axis in axes[-1]:
        axis.set_xlabel("Time (s)")
    _legend(figure, most)
    return figure, points, caption


def _grid(knobs: dict[str, list[str]]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Columns: the levels of the first knob that varies; rows: every combination of the others'."""
    facets = Facets.of(knobs)
    columns = [{facets.knob: level} for level in facets.levels]
    return columns, [{**row, **column} for row in facets.rows for column in facets.columns]


def _panel(axis: Axes, lines: pl.DataFrame, clients: pl.DataFrame, most: int) -> None:
    """Draw one variant's lines, in the colours of ``most`` streams."""
    for line in lines.partition_by("client", "opened", maintain_order=True):
        drawn = colour(int(line["opened"][0]), most)
        axis.plot(line["time_s"], line["cells_received"] / 1e3, color=drawn, linewidth=0.9)
    for first_s in clients["first_completed_s"].drop_nulls().to_list():
        axis.axvline(first_s, color=GREY, linewidth=0.6, linestyle=":")


def _starved(clients: pl.DataFrame) -> str:
    """How many streams of each client starved, which is known only if one of them completed."""
    return ", ".join(
        "none complete" if starved is None else f"{starved} of {opened} starved"
        for starved, opened in clients.select("starved", "opened").iter_rows()
    )


def colour(opened: int, streams: int) -> Any:
    """The colour of the stream opened as number ``opened`` of ``streams``: the darker, the earlier."""
    place = (opened - 1) / max(streams - 1, 1)
    return matplotlib.colormaps["viridis"](_DARKEST + (_LIGHTEST - _DARKEST) * place)


def _legend(figure: Figure, streams: int) -> None:
    handles = [
        Line2D([], [], color=colour(number, streams), label=str(number)) for number in range(1, streams + 1)
    ]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=streams,
        title="Stream, in order of opening",
        borderaxespad=0.1,
        handlelength=1.6,
    )
