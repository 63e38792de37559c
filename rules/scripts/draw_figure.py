"""Draw one figure as PDF and PNG, with the points it plots as CSV."""

from pathlib import Path

from torsweep.ending import run_script
from torsweep.pipeline.figures import draw_figure


def _work() -> None:
    params = snakemake.params
    summary, stem = Path(params.summary), Path(params.stem)
    draw_figure(snakemake.wildcards.figure, summary, stem, captions=params.captions)


run_script(snakemake, _work)
