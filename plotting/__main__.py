"""``python -m plotting FIGURE --summaries DIR --out DIR/NAME``: draw one figure.

In: the folder of a plan's summaries. Out: NAME.pdf, NAME.png, NAME.csv. Errors that
a user can put right are one line on standard error, with torsweep's exit codes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from plotting import breakdown, cdf, cells, closeup, differences, fairness, progress, queues
from plotting.command import exit_code_of
from plotting.source import Source
from plotting.style import save, style

FIGURES: dict[str, Callable[[Source], tuple[Figure, pl.DataFrame, str]]] = {
    "ttfb_cdf": lambda source: cdf.draw(source, "ttfb"),
    "ttlb_cdf": lambda source: cdf.draw(source, "ttlb"),
    "ttfb_closeup": closeup.draw,
    "relay_queues": queues.draw,
    "differences": differences.draw,
    "stream_progress": progress.draw,
    "stream_fairness": fairness.draw,
    "cell_density": cells.draw_density,
    "cell_stages": cells.draw_stages,
    "latency_breakdown": breakdown.draw_means,
    "latency_percentiles": breakdown.draw_percentiles,
    "latency_over_time": breakdown.draw_over_time,
    "latency_waterfall": breakdown.draw_waterfall,
}
"""What an experiment.yaml may list under ``figures``."""


def draw_figure(name: str, summaries: Path, out: Path) -> None:
    """Draw the figure ``name`` into ``out``.pdf, .png and .csv."""
    source = Source(summaries)
    with style():
        figure, points, caption = FIGURES[name](source)
        save(figure, points, caption, source.origin(), out)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command line ``arguments``."""
    parser = argparse.ArgumentParser(prog="python -m plotting", description="Draw one figure of a plan.")
    parser.add_argument("figure", choices=FIGURES, metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--summaries", type=Path, required=True, help="folder that `results summarize` wrote")
    parser.add_argument("--out", type=Path, required=True, help="path of the files, without .pdf")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: draw_figure(options.figure, options.summaries, options.out), options.out)


if __name__ == "__main__":
    sys.exit(main())
