"""Gather all of a plan's results in one folder, with provenance and checksums, and pack it."""

from pathlib import Path

from torsweep.bundle import Sources, pack, publish
from torsweep.ending import run_script


def _work() -> None:
    params, files = snakemake.params, snakemake.input
    runs = [Path(run) for run in params.runs]
    stages = (Path(params.tables), Path(params.summary), Path(params.figures))
    sources = Sources(*stages, Path(files.page), Path(files.experiment), runs)
    publish(sources, params.settings, Path(params.out))
    pack(Path(params.out), Path(snakemake.output.bundle))


run_script(snakemake, _work)
