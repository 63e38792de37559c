"""When each stream was complete, in several engines side by side.

    python -m plotting.engines COMPARISON --out FOLDER/stream_engines

In: the folder that `torsweep results side-by-side` wrote. Out: a panel for each activation order, rows for
what else varies (the middle's bandwidth at the baseline's); the completion of each stream against its place
in the order of opening, a mark for each engine, thin marks for single networks.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from plotting.drawing.command import exit_code_of
from plotting.drawing.facets import Facets, at, levels_text
from plotting.drawing.palette import level_name
from plotting.drawing.style import TEXT_WIDTH_IN, canvas, save, style
from torsweep.config.looks import BLUE, GREEN, PURPLE, VERMILION
from torsweep.stats.side_by_side import SideBySide, read_side_by_side
from torsweep.stats.text import networks_text

_MARKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"))


def draw(both: SideBySide, means: pl.DataFrame, middle: str) -> tuple[Figure, pl.DataFrame, str]:
    """The figure, the points in it and its caption.

    ``means`` are the completion times over networks; ``middle`` is the level of the middle shown.
    """
    levels = {
        knob: means[knob].unique(maintain_order=True).to_list()
        for knob in both.knobs
        if knob != "middle_bandwidth"
    }
    facets = Facets.of(levels)
    rows_of = [{**row, **column} for row in facets.rows for column in facets.columns]
    caption = (
        f"{' beside '.join(both.engines)}; era {both.where['era']}; the "
        f"same {networks_text(both.seeds)}; middle {level_name(middle)}. Large marks: means over networks; "
        "small ones: each network."
    )
    figure = canvas(TEXT_WIDTH_IN, 0.7 + 1.6 * len(rows_of), caption)
    axes = figure.subplots(len(rows_of), len(facets.levels), sharex=True, sharey="row", squeeze=False)
    for row, line in zip(rows_of, axes, strict=True):
        for level, axis in zip(facets.levels, line, strict=True):
            chosen = {**row, facets.knob: level, "middle_bandwidth": middle}
            _panel(axis, both, at(both.shares, chosen), at(means, chosen))
            axis.set_title(level_name(level))
        line[0].set_ylabel("\n".join(filter(None, ("Complete after (s)", levels_text(row)))))
    for axis in axes[-1]:
        axis.set_xlabel("Stream, in order of opening")
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=4, label=engine.split()[0])
        for (colour, marker), engine in zip(_MARKS, both.engines, strict=False)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), borderaxespad=0.1)
    return figure, means, caption


def _panel(axis: Axes, both: SideBySide, shares: pl.DataFrame, means: pl.DataFrame) -> None:
    for (colour, marker), engine in zip(_MARKS, both.engines, strict=False):
        each, mean = (frame.filter(pl.col("engine") == engine) for frame in (shares, means))
        axis.plot(each["opened"], each["completed_s"], marker, color=colour, markersize=1.8, alpha=0.6, mew=0)
        axis.plot(
            mean["opened"], mean["completed_s"], marker, color=colour, markersize=4.5, mew=0.7, mfc="none"
        )
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def draw_figure(comparison: Path, middle: str, out: Path) -> None:
    """Draw the comparison of engines that stands in the folder ``comparison``, into ``out``.pdf, .png, .csv.

    Raises InputError when the folder is no comparison.
    """
    both, means = read_side_by_side(comparison)
    with style():
        figure, points, caption = draw(both, means, middle)
        origin = json.dumps({**both.where, "engines": both.engines, "seeds": both.seeds})
        save(figure, points, caption, origin, out)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    parser = argparse.ArgumentParser(prog="python -m plotting.engines", description="Engines side by side.")
    parser.add_argument("comparison", type=Path, help="folder that `results side-by-side` wrote")
    parser.add_argument("--middle", default="550KiBps", help="level of middle_bandwidth that is drawn")
    parser.add_argument("--out", type=Path, required=True, help="path of the figure, without .pdf")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: draw_figure(options.comparison, options.middle, options.out), options.out)


if __name__ == "__main__":
    sys.exit(main())
