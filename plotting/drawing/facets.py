"""How knobs become a grid of panels, by one rule for all figures.

In: a plan's knobs and their levels. Out: :class:`Facets`: the first knob that varies is the colour; of the
others, the one with the most levels makes columns of panels and the rest make rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.drawing.palette import knob_name, level_name, look
from plotting.drawing.style import COLUMN_WIDTH_IN, GREY, SMALL_PT, TEXT_WIDTH_IN
from torsweep.config.looks import Look

Sharing = bool | Literal["row"]
Panels = list[tuple[str, list[tuple[Axes, dict[str, str]]]]]
NUMBER = re.compile(r"[0-9.]+\Z")


def say_nothing_is_here(axis: Axes, why: str) -> None:
    """Write in the middle of an empty panel ``why`` it is empty."""
    axis.text(
        0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center", color=GREY, backgroundcolor="white"
    )


@dataclass(frozen=True)
class Facets:
    """The colour's knob and levels, and the levels that stand for each column and each row of panels.

    Without a further knob there is one row, ``{}``; without a second one, one column.
    """

    knob: str
    levels: list[str]
    columns: list[dict[str, str]]
    rows: list[dict[str, str]]

    @classmethod
    def of(cls, knobs: dict[str, list[str]]) -> Facets:
        """The facets of a plan with ``knobs``; knobs with one level make no panels of their own."""
        varying = [knob for knob, levels in knobs.items() if len(levels) > 1] or list(knobs)
        colour, rest = varying[0], varying[1:]
        across = max(rest, key=lambda knob: len(knobs[knob]), default=None)
        down = [knob for knob in rest if knob != across]
        columns = [{across: level} for level in knobs[across]] if across else [{}]
        rows = [dict(zip(down, levels, strict=True)) for levels in product(*(knobs[k] for k in down))]
        return cls(colour, knobs[colour], columns, rows)

    @property
    def width_in(self) -> float:
        """A column's width up to two panels side by side, else the text's."""
        return COLUMN_WIDTH_IN if len(self.columns) <= 2 else TEXT_WIDTH_IN

    def panels(
        self, figure: Figure, things: Sequence[str], *, sharex: Sharing, sharey: Sharing = True
    ) -> Panels:
        """Panels for each of ``things`` (kinds of client, say) and each row and column of levels.

        A list of rows: the thing, and for each panel its axes and its levels. Columns are titled, rows are
        labelled by :func:`label`.
        """
        pairs = list(product(things, self.rows))
        axes = figure.subplots(len(pairs), len(self.columns), sharex=sharex, sharey=sharey, squeeze=False)
        for axis, column in zip(axes[0], self.columns, strict=True):
            axis.set_title(levels_text(column))
        return [
            (thing, [(axis, {**row, **column}) for axis, column in zip(line, self.columns, strict=True)])
            for (thing, row), line in zip(pairs, axes, strict=True)
        ]

    def row_names(self, things: Sequence[str]) -> list[str]:
        """What stands at the left of each row of :meth:`panels`."""
        return [
            "\n".join(filter(None, (thing, levels_text(row)))) for thing, row in product(things, self.rows)
        ]

    def select(self, frame: pl.DataFrame, column: dict[str, str], level: str) -> pl.DataFrame:
        """The rows of ``frame`` for one curve of one panel."""
        chosen = {**column, self.knob: level}
        return frame.filter(*(pl.col(knob).cast(pl.String) == wanted for knob, wanted in chosen.items()))

    def look(self, level: str) -> Look:
        """How a level of the colour's knob is drawn."""
        return look(self.knob, level)

    def legend(self, figure: Figure, marker: bool = False) -> None:
        """One legend of the colour's levels above the panels, in as many columns as fit."""
        handles = []
        for level in self.levels:
            drawn = self.look(level)
            line = Line2D([], [], color=drawn.colour, linestyle=drawn.dashes, label=level_name(level))
            if marker:
                line.set(marker=drawn.marker, markersize=3)
            handles.append(line)
        handle_length = 3.4 if marker else 2.4
        letters = max(len(level_name(level)) for level in self.levels)
        entry_in = (handle_length + 2 + 0.6 * letters) * SMALL_PT / 72
        fitting = max(int(figure.get_figwidth() / entry_in), 1)
        lines = -(-len(handles) // fitting)
        figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=-(-len(handles) // lines),
            title=knob_name(self.knob),
            borderaxespad=0.1,
            handlelength=handle_length,
        )


def levels_text(levels: dict[str, str]) -> str:
    """Levels in words: ``EWMA``; a number needs its knob: ``load 0.5``."""
    return ", ".join(
        f"{knob_name(knob).lower()} {level}" if NUMBER.match(level) else level_name(level)
        for knob, level in levels.items()
    )


def label(panels: Panels, rows: Sequence[str], bottom: str) -> None:
    """Write each row's name at its left end, and ``bottom`` below each column."""
    for (_, line), name in zip(panels, rows, strict=True):
        line[0][0].set_ylabel(name)
    for axis, _ in panels[-1][1]:
        axis.set_xlabel(bottom)


def every_axis(panels: Panels) -> list[Axes]:
    """All axes of a grid, row by row."""
    return [axis for _, line in panels for axis, _ in line]
