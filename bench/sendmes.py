"""In which groups the SENDMEs of circuits reach an exit: ``python -m bench.sendmes OUT.csv WORDS=RUN_DIR …``.

In: finished runs whose exit `relay3` was traced at the point ``queue``, with one circuit whose window is what
its exit waits for. Out: a row for each run: the share of SENDMEs that came alone, in pairs and in threes, as
told by what the exit then packages, 100 cells for each; between the 5th and the 35th second.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.table_files import CELLS_FILE

EXIT = "relay3"
CELLS_OF_SENDME = 100
FROM_NS, TO_NS = 5_000_000_000, 35_000_000_000
APART_NS = 5_000_000
"""Cells that are packaged further apart than this belong to different groups."""


def shares(run: Path) -> dict[str, float]:
    """The share of SENDMEs in groups of one, two and three."""
    packaged = pl.read_parquet(run / CELLS_FILE).filter(
        pl.col("host") == EXIT,
        pl.col("point") == "queue",
        ~pl.col("outward"),
        pl.col("time_ns").is_between(FROM_NS, TO_NS),
    )
    times_ns = packaged["time_ns"].sort().to_numpy()
    starts = np.flatnonzero(np.diff(times_ns, prepend=-APART_NS) > APART_NS)
    cells = np.diff(np.append(starts, len(times_ns)))
    sizes = np.rint(cells / CELLS_OF_SENDME)
    names = {1: "alone", 2: "pairs", 3: "threes"}
    return {name: round(float(cells[sizes == size].sum() / cells.sum()), 3) for size, name in names.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    write_named_rows(__doc__, "RUN_DIR", lambda run: shares(Path(run)), arguments)


if __name__ == "__main__":
    main()
