"""Draw one figure as PDF and PNG, with the points it plots as CSV."""

from pathlib import Path

from torsweep.ending import run_script
from torsweep.pipeline.figures import draw_figure


def _work() -> None:
    params = snakemake.params
    draw_figure(snakemake.wildcards.figure, Path(params.summary), Path(params.stem))


run_script(snakemake, _work)
