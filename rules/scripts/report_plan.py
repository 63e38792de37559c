"""Write the page of a plan."""

from pathlib import Path

from torsweep.ending import run_script
from torsweep.report import gather, render
from torsweep.storage import write_text


def _work() -> None:
    params, files = snakemake.params, snakemake.input
    networks = [Path(manifest).parent for manifest in files.networks]
    places = (Path(params.summary), Path(params.figures), Path(files.experiment))
    page = gather(*places, networks, params.settings)
    write_text(Path(snakemake.output[0]), render(page))
    for warning in page.warnings:
        print(f"torsweep: warning: {warning}")


run_script(snakemake, _work)
