"""Draw one figure as PDF and PNG, with the points it plots as CSV."""

from pathlib import Path

from torsweep.pipeline.figures import draw_figure
from torsweep.pipeline.scripts import run_script


def _work() -> None:
    params = snakemake.params
    summary, stem = Path(params.summary), Path(params.stem)
    draw_figure(snakemake.wildcards.figure, summary, stem, captions=params.captions)


run_script(snakemake, _work)
