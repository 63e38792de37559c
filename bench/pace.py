"""How far runs of the emulation fell behind real time, as a table of docs/emulation.md.

    python -m bench.pace docs/tables/emulation_pace.csv 'nothing=RUN_DIR' 'two busy loops=RUN_DIR' ...

In: for each run, refused ones included, the other work on the machine and the run's directory. Out: a CSV
file with a row a run, in place of the one that there was; `make docs-tables` then writes it into the
document.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.writing import csv_text
from torsweep.engines.emulation.run.pace import read_slowest
from torsweep.engines.run_spec import read_run
from torsweep.provenance import PROVENANCE_FILE
from torsweep.storage import write_text

COLUMNS = ("network", "beside", "run", "slowest", "delay_ms", "late_percent")


def row(beside: str, run_directory: Path) -> dict[str, object]:
    """The row of one run; ``network`` is the name of the configuration, from the run's network."""
    run, found = read_run(run_directory), read_slowest(run_directory)
    return {
        "network": f"`{Path(run.network).parent.name}`",
        "beside": beside,
        "run": "taken" if (run_directory / PROVENANCE_FILE).is_file() else "refused",
        "slowest": found.name,
        "delay_ms": f"{found.delay_ms:.2f}",
        "late_percent": f"{100 * found.late_share:.2f}",
    }


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Gather how well runs of the emulation kept up.")
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs="+", metavar="BESIDE=RUN_DIR")
    arguments = parser.parse_args()
    runs = [text.split("=", 1) for text in arguments.runs]
    write_text(arguments.out, csv_text(COLUMNS, [row(beside, Path(folder)) for beside, folder in runs]))


if __name__ == "__main__":
    main()
