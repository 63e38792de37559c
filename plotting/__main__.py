"""``python -m plotting FIGURE --summaries DIR --out DIR/NAME``: draw one figure.

In: the folder of a plan's summaries. Out: NAME.pdf, NAME.png, NAME.csv. Errors that a user can put right are
one line on standard error, with torsweep's exit codes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from plotting.drawing.command import exit_code_of
from plotting.drawing.source import Source
from plotting.drawing.style import save, style
from torsweep.config.figures import figure_names


def draw_figure(name: str, summaries: Path, out: Path) -> None:
    """Draw the figure ``name`` into ``out``.pdf, .png and .csv."""
    drawn = importlib.import_module(f"plotting.{name}")
    source = Source(summaries)
    with style():
        figure, points, caption = drawn.draw(source)
        save(figure, points, caption, source.origin(), out, drawn.TITLE, drawn.HOW_TO_READ)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    names = figure_names(Path(__file__).parent)
    parser = argparse.ArgumentParser(prog="python -m plotting", description="Draw one figure of a plan.")
    parser.add_argument("figure", choices=names, metavar="FIGURE", help=", ".join(names))
    parser.add_argument("--summaries", type=Path, required=True, help="folder that `results summarize` wrote")
    parser.add_argument("--out", type=Path, required=True, help="path of the files, without .pdf")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: draw_figure(options.figure, options.summaries, options.out), options.out)


if __name__ == "__main__":
    sys.exit(main())
