"""How knobs become a grid of panels, by one rule for all figures.

In: a plan's knobs and their levels. Out: :class:`Facets`: the first knob that varies is the colour, every
combination of levels of the others is a column of panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plotting.palette import knob_name, level_name, look
from plotting.style import COLUMN_WIDTH_IN, TEXT_WIDTH_IN


@dataclass(frozen=True)
class Facets:
    """The colour's knob and levels, and one dictionary of levels a column of panels."""

    knob: str
    levels: list[str]
    columns: list[dict[str, str]]

    @classmethod
    def of(cls, knobs: dict[str, list[str]]) -> Facets:
        """The facets of a plan with ``knobs``; knobs with one level make no panels of their own."""
        varying = [knob for knob, levels in knobs.items() if len(levels) > 1] or list(knobs)
        colour, rest = varying[0], varying[1:]
        columns = [dict(zip(rest, levels, strict=True)) for levels in product(*(knobs[k] for k in rest))]
        return cls(colour, knobs[colour], columns)

    @property
    def width_in(self) -> float:
        """A column's width up to two panels side by side, else the text's."""
        return COLUMN_WIDTH_IN if len(self.columns) <= 2 else TEXT_WIDTH_IN

    def panels(
        self, figure: Figure, rows: int, *, sharex: str | bool, sharey: str | bool = True
    ) -> np.ndarray:
        """Axes of shape (``rows``, columns), the columns titled by their levels."""
        axes = figure.subplots(rows, len(self.columns), sharex=sharex, sharey=sharey, squeeze=False)
        for axis, column in zip(axes[0], self.columns, strict=True):
            if column:
                axis.set_title(self.title(column))
        return axes

    def title(self, column: dict[str, str]) -> str:
        """The levels of a column of panels, in words: ``EWMA``, ``load 0.5, EWMA``."""
        return ", ".join(
            f"{knob_name(knob).lower()} {level}" if level[0].isdigit() else level_name(level)
            for knob, level in column.items()
        )

    def select(self, frame: pl.DataFrame, column: dict[str, str], level: str) -> pl.DataFrame:
        """The rows of ``frame`` for one curve of one panel."""
        chosen = {**column, self.knob: level}
        return frame.filter(*(pl.col(knob).cast(pl.String) == wanted for knob, wanted in chosen.items()))

    def legend(self, figure: Figure, extra: Sequence[Line2D] = (), marker: bool = False) -> None:
        """One legend above the panels: the colour's levels, then ``extra``."""
        handles = [
            Line2D(
                [],
                [],
                color=look(level).colour,
                linestyle=look(level).dashes,
                marker=look(level).marker if marker else "",
                markersize=3,
                label=level_name(level),
            )
            for level in self.levels
        ]
        figure.legend(
            handles=[*handles, *extra],
            loc="outside upper center",
            ncols=min(len(handles) + len(extra), 4),
            title=knob_name(self.knob),
            borderaxespad=0.1,
            handlelength=3.4 if marker else 2.4,
        )


def label(axes: np.ndarray, rows: Sequence[str], bottom: str) -> None:
    """Write each row's label at its left end, and ``bottom`` below each column."""
    for axis, row in zip(axes[:, 0], rows, strict=True):
        axis.set_ylabel(row)
    for axis in axes[-1]:
        axis.set_xlabel(bottom)


def every_axis(axes: np.ndarray) -> list[Axes]:
    """All axes of a grid, row by row."""
    return list(axes.flat)
