"""Gather all of a plan's results in one folder, with provenance, citation and checksums, and pack it."""

from pathlib import Path

from torsweep.bundle import Credit, Sources, pack, publish
from torsweep.ending import run_script


def _work() -> None:
    params, files = snakemake.params, snakemake.input
    runs = [Path(run) for run in params.runs]
    stages = (Path(params.tables), Path(params.summary), Path(params.figures))
    sources = Sources(*stages, Path(files.page), Path(files.experiment), runs)
    credit = Credit.of(params.authors, params.licence or None, runs)
    publish(sources, credit, params.settings, Path(params.out))
    pack(Path(params.out), Path(snakemake.output.bundle))


run_script(snakemake, _work)
