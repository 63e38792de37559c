"""How knobs become a grid of panels, drawn with seaborn, by the same rule in all figures.

The first knob that varies is the colour, the line style and the marker; of the others, the one with the most
levels makes columns of panels and the rest make rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas
import polars as pl
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plotting.drawing.axes import say_nothing_is_here
from plotting.drawing.palette import (
    COLUMN_WIDTH_IN,
    FAINT,
    GREY,
    NORMAL_PT,
    SMALL_PT,
    TEXT_WIDTH_IN,
    THEME,
    knob_name,
    level_name,
    marks,
)
from plotting.drawing.source import Source
from torsweep.config.knob import Mark
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.text import is_number

PLACE = ("row", "column")
"""Columns that :meth:`Facets.place` adds: the names of a point's panel."""

_LETTER = 0.6
"""How wide a letter is, as a part of its height."""
_ROW_LETTERS = 24
"""How long a line of the name of a row may be."""

_EDGES = {"edgealpha": 0.8, "edgewidth": 0.5}
_BAND, _EXTREME_BAND = so.Band(alpha=0.18, **_EDGES), so.Band(alpha=0, **_EDGES)
"""Edges have the dashes of their level, so that bands which overlap are told apart, in grey too."""

MOST_INTERVALS = 8
"""So many intervals of one curve over time can be told apart in half a column."""

MARK = so.Dot(pointsize=4, edgecolor="white", edgewidth=0.4, artist_kws={"zorder": 5})


def band(source: Source) -> so.Band:
    """How an interval is drawn that a summary holds; of a few networks, the lowest and the highest."""
    return _EXTREME_BAND if source.few else _BAND


def as_pandas(frame: pl.DataFrame) -> pandas.DataFrame:
    """``frame`` for seaborn: no number is NaN."""
    return pandas.DataFrame({column.name: column.to_numpy() for column in frame})


def band_of(points: pl.DataFrame, number: str) -> pl.DataFrame:
    """``points`` with the columns ``mean``, ``low`` and ``high`` of a ``number`` of theirs."""
    return points.with_columns(mean=number, low=f"{number}_low", high=f"{number}_high")


@dataclass(frozen=True)
class Panel:
    """One panel of a grid: its axes, the name of its row, and the levels that it stands for."""

    axis: Axes
    thing: str
    levels: dict[str, str]


@dataclass(frozen=True)
class Facets:
    """The colour's knob, its levels and their marks, and the levels of each column and each row of panels:
    where no knob makes any, of one, ``{}``."""

    knob: str
    levels: list[str]
    columns: list[dict[str, str]]
    rows: list[dict[str, str]]
    marks: Mapping[str, Mark]

    @classmethod
    def of(cls, knobs: dict[str, list[str]]) -> Facets:
        """The facets of a plan with ``knobs``; knobs with one level make no panels of their own."""
        varying = [knob for knob, levels in knobs.items() if len(levels) > 1] or list(knobs)
        colour, rest = varying[0], varying[1:]
        across = max(rest, key=lambda knob: len(knobs[knob]), default=None)
        down = [knob for knob in rest if knob != across]
        columns = [{across: level} for level in knobs[across]] if across else [{}]
        rows = [dict(zip(down, levels, strict=True)) for levels in product(*(knobs[k] for k in down))]
        return cls(colour, knobs[colour], columns, rows, marks(colour, knobs[colour]))

    def spread(self) -> Facets:
        """These facets with a column for each level of the colour's knob, so that colours are free."""
        columns = [{self.knob: level} for level in self.levels]
        rows = [{**row, **column} for row, column in product(self.rows, self.columns)]
        return replace(self, columns=columns, rows=rows)

    @property
    def width_in(self) -> float:
        """A column's width up to two panels side by side, else the text's."""
        return COLUMN_WIDTH_IN if len(self.columns) <= 2 else TEXT_WIDTH_IN

    def place(self, things: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The points of ``things`` (kinds of client, say), by name, with the names of their panels."""
        placed = [
            at_levels(points, {**row, **column}).with_columns(
                row=pl.lit(row_name(thing, row)), column=pl.lit(levels_text(column))
            )
            for (thing, points), row, column in product(things.items(), self.rows, self.columns)
        ]
        return pl.concat(placed)

    def plot(self, points: pl.DataFrame, things: Iterable[str], **variables: str) -> so.Plot:
        """A plot of what :meth:`place` gave, to which marks are to be added; each level has its own, unless
        ``variables`` has another ``color``."""
        order = {
            "col": [levels_text(column) for column in self.columns],
            "row": [row_name(thing, row) for thing, row in product(things, self.rows)],
        }
        marks = {} if "color" in variables else {"color": self.knob, "linestyle": self.knob}
        plot = so.Plot(as_pandas(points), **variables, **marks).facet(col="column", row="row", order=order)
        return plot.scale(**self.scales()).theme(THEME)

    def scales(self) -> dict[str, so.Nominal]:
        """Colours, line styles and markers by level, as seaborn takes them."""
        marks = {level: self.marks[level] for level in self.levels}
        dashes = so.Nominal({level: one.dashes for level, one in marks.items()}, order=self.levels)
        return {
            "color": so.Nominal({level: one.colour for level, one in marks.items()}, order=self.levels),
            "linestyle": dashes,
            "edgestyle": dashes,
            "marker": so.Nominal({level: one.marker for level, one in marks.items()}, order=self.levels),
        }

    def put(
        self, plot: so.Plot, figure: Figure, things: Iterable[str], bottom: str, empty: str = ""
    ) -> list[Panel]:
        """Draw ``plot`` in ``figure``; columns get their titles, rows their names, the last one ``bottom``. A
        panel without data says ``empty``."""
        plot.label(x=bottom, y="").on(figure).plot()
        pairs = list(product(things, self.rows))
        letters = int(figure.get_figwidth() * 72 / len(self.columns) / NORMAL_PT / _LETTER)
        grid = np.reshape(np.array(figure.axes), (len(pairs), len(self.columns)))
        panels = []
        for (thing, row), line in zip(pairs, grid, strict=True):
            line[0].set_ylabel(folded(row_name(thing, row), _ROW_LETTERS))
            for axis, column in zip(line, self.columns, strict=True):
                axis.set_title(folded(levels_text(column), letters) if axis in grid[0] else "")
                if empty and not axis.has_data():
                    say_nothing_is_here(axis, empty)
                panels.append(Panel(axis, thing, {**row, **column}))
        return panels

    def put_over_time(
        self, source: Source, points: pl.DataFrame, rows: Mapping[str, str], figure: Figure
    ) -> list[Panel]:
        """Draw ``rows`` (a number of ``points`` by its name) against the ``second`` of a run. Bands of
        several levels would cover one another: a few intervals stand side by side in their place."""
        placed = self._with_intervals(points)
        things = {name: band_of(placed, number) for name, number in rows.items()}
        beside = {"x": "beside", "color": self.knob}
        plot = (
            self.plot(self.place(things), things, x="aside", y="mean")
            .add(so.Line(linewidth=1), legend=False)
            .add(so.Range(linewidth=0.9, linestyle="-"), ymin="low", ymax="high", legend=False, **beside)
            .add(MARK, marker=self.knob, legend=False, **beside)
            .share(y="row")
            .limit(y=(0, None))
        )
        panels = self.put(plot, figure, things, "Time since the start (s)")
        said = source.band_words()
        interval = Line2D([], [], color=GREY, linestyle="", marker="|", markersize=7, label=said)
        self.legend(figure, marker=True, more=[interval] if said else [])
        return panels

    def _with_intervals(self, points: pl.DataFrame) -> pl.DataFrame:
        """``points`` with ``aside``, their x position beside points of other levels, and ``beside``, the same
        position at the few seconds that get an interval."""
        seconds = points["second"].unique().sort()
        some = seconds.gather_every(-(-len(seconds) // MOST_INTERVALS))
        apart = float(seconds[1] - seconds[0]) * min(0.2, 0.8 / len(self.levels)) if len(seconds) > 1 else 0.0
        middle = (len(self.levels) - 1) / 2
        places = {level: apart * (number - middle) for number, level in enumerate(self.levels)}
        aside = pl.col("second") + pl.col(self.knob).replace_strict(places, return_dtype=pl.Float64)
        among = pl.col("second").is_in(some.implode())
        return points.with_columns(aside=aside, beside=pl.when(among).then(aside))

    def of_bands(self, source: Source, said: str | None = None) -> list[Patch]:
        """The legend's entry ``said`` for bands; empty for one network, which has no bands."""
        words = source.band_words() if said is None else said
        face = "none" if source.few else FAINT
        return [Patch(facecolor=face, edgecolor=GREY, linewidth=0.5, label=words)] if words else []

    def legend(
        self,
        figure: Figure,
        marker: bool = False,
        more: Iterable[Any] = (),
        dashed: bool = True,
        lines: bool = True,
        levels: Sequence[str] | None = None,
    ) -> None:
        """One legend of the colour's ``levels``, or of all, and of ``more``, above the panels; without
        ``lines``, of marks alone."""
        handles: list[Any] = []
        for level in self.levels if levels is None else levels:
            drawn = self.marks[level]
            line = Line2D([], [], color=drawn.colour, label=level_name(level))
            dashes = drawn.dashes if dashed else "-"
            line.set(linestyle=dashes if lines else "", marker=drawn.marker if marker else "")
            line.set_markersize(3)
            handles.append(line)
        handles += more
        legend_above(figure, handles, title=knob_name(self.knob), handlelength=3.4 if marker else 2.4)


def legend_above(figure: Figure, handles: list[Any], handlelength: float, title: str | None = None) -> None:
    """A legend of ``handles`` above the panels, in as many columns as fit; long names take several lines."""
    # In letters of the legend: handle, gap and name, each letter a little more than half as wide as high.
    entry, room = handlelength + 2, figure.get_figwidth() * 72 / SMALL_PT
    for handle in handles:
        handle.set_label(folded(str(handle.get_label()), int((room - entry) / _LETTER)))
    names = [max(str(handle.get_label()).split("\n"), key=len) for handle in handles]
    in_one_line = entry * len(names) + 0.55 * len("".join(names)) <= room
    fitting = len(names) if in_one_line else max(int(room / (entry + 0.55 * len(max(names, key=len)))), 1)
    columns = -(-len(handles) // -(-len(handles) // fitting))
    where: Any = {"loc": "outside upper center", "borderaxespad": 0.1}
    figure.legend(handles=handles, ncols=columns, title=title, handlelength=handlelength, **where)


def folded(text: str, letters: int) -> str:
    """``text`` in lines of at most so many letters."""
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, letters))


def row_name(thing: str, levels: dict[str, str]) -> str:
    """The label at the left of a row of panels."""
    return "\n".join(filter(None, (thing, levels_text(levels))))


def levels_text(levels: dict[str, str]) -> str:
    """Levels in words: ``EWMA``; a number needs its knob: ``load 0.5``."""
    return ", ".join(
        f"{knob_name(knob).lower()} {level}" if is_number(level) else level_name(level)
        for knob, level in levels.items()
    )
