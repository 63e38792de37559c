"""Pack a finished study of `torsweep compare` for `torsweep demo`.

    python -m bench.demo STUDY src/torsweep/kist_interval.zip

In: the study's folder. Out: a zip of its experiment, tables and networks without latencies, with the checksum
of each file. That which ships: `torsweep compare --torrc 'KISTSchedRunInterval 100 msec' --on role=relay
--engine emulation --networks 4 --warm-up '30 s' --measured '1 min'`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bench.writing import end_with
from torsweep.bundle import pack, sums_text
from torsweep.storage.folders import SUMS_FILE

KEPT = ("Snakefile", "experiments/*/*", "results/tables/**/*", "results/networks/*/*/network.json")


def main() -> None:
    """The command line above."""
    study, out = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (file for pattern in KEPT for file in sorted(study.glob(pattern)) if file.is_file()):
            place = folder / file.relative_to(study)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        (folder / SUMS_FILE).write_text(sums_text(folder))
        pack(folder, out)


if __name__ == "__main__":
    end_with(main)
