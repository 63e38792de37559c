"""``python -m plotting FIGURE --summaries DIR --out DIR/NAME``: draw one figure of a plan.

    python -m plotting compare_contrasts --comparison DIR --out DIR/NAME
    python -m plotting compare --comparison DIR --out FOLDER

In: the folder of a plan's summaries, or of a comparison. Out: NAME.pdf, NAME.png, NAME.csv; ``compare`` draws
every figure for which the comparison has the tables. Errors that a user can put right are one line on
standard error, with torsweep's exit codes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from plotting.drawing.command import exit_code_of
from plotting.drawing.compared import ComparedSources
from plotting.drawing.source import Source
from plotting.drawing.style import save, style
from torsweep.config.figures import OF_COMPARISONS, comparison_figures, figure_names

_ALL = "compare"
_HERE = Path(__file__).parent


def draw_figure(name: str, folder: Path, out: Path) -> None:
    """Draw the figure ``name`` of the summaries or comparison in ``folder``: ``out``.pdf, .png, .csv."""
    drawn = importlib.import_module(f"plotting.{name}")
    source = ComparedSources(folder) if name.startswith(OF_COMPARISONS) else Source(folder)
    with style():
        figure, points, caption = drawn.draw(source)
        save(figure, points, caption, source.origin(), out, drawn.TITLE, drawn.HOW_TO_READ)


def draw_comparison(folder: Path, out: Path) -> None:
    """Draw every figure for which the comparison in ``folder`` has the tables, into the folder ``out``."""
    tables = ComparedSources(folder).tables
    for name in comparison_figures(_HERE):
        if tables.keys() >= set(importlib.import_module(f"plotting.{name}").NEEDS):
            draw_figure(name, folder, out / name)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    of_plans, of_comparisons = figure_names(_HERE), (*comparison_figures(_HERE), _ALL)
    names = (*of_plans, *of_comparisons)
    parser = argparse.ArgumentParser(prog="python -m plotting", description="Draw one figure.")
    parser.add_argument("figure", choices=names, metavar="FIGURE", help=", ".join(names))
    parser.add_argument("--summaries", type=Path, help="for a plan: folder that `results summarize` wrote")
    parser.add_argument("--comparison", type=Path, help="for compare…: folder that `results compare` wrote")
    parser.add_argument("--out", type=Path, required=True, help="path without .pdf; for compare: a folder")
    options = parser.parse_args(arguments)
    folder = options.comparison if options.figure in of_comparisons else options.summaries
    if folder is None:
        parser.error(
            f"{options.figure} needs --{'comparison' if options.figure in of_comparisons else 'summaries'}"
        )
    if options.figure == _ALL:
        return exit_code_of(lambda: draw_comparison(folder, options.out), options.out / _ALL)
    return exit_code_of(lambda: draw_figure(options.figure, folder, options.out), options.out)


if __name__ == "__main__":
    sys.exit(main())
