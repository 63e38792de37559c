"""Pack a published folder as one zip."""

from pathlib import Path

from torsweep.bundle import pack
from torsweep.ending import run_script

run_script(snakemake, lambda: pack(Path(snakemake.params.folder), Path(snakemake.output[0])))
