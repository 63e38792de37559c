"""When each stream of a circuit was complete: ``python -m bench.stream_rows OUT.csv WORDS=RUN_DIR …``.

In: finished runs of one client whose streams share a circuit, with progress recorded. Out: a row for each
run: seconds to completion in the order of opening, and how many streams had starved when the first one was
complete (:mod:`torsweep.stats.streams.fairness`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.table_schema import PROGRESS, STREAMS
from torsweep.runsets.collect import read_table
from torsweep.stats.streams.fairness import fairness


def completion(run: Path) -> dict[str, float | int | None]:
    """``stream_N_s`` for each stream, seconds since the first was opened, and ``starved``."""
    seed = pl.lit(0).alias("seed")
    streams, progress = (read_table(run, table).with_columns(seed) for table in (STREAMS, PROGRESS))
    found = fairness(streams, progress, [])
    times = found.shares.sort("opened").select("opened", "completed_s")
    row: dict[str, float | int | None] = {
        f"stream_{opened}_s": None if time_s is None else round(time_s, 1) for opened, time_s in times.rows()
    }
    return {**row, "starved": found.clients["starved"].item()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    write_named_rows(__doc__, "RUN_DIR", lambda run: completion(Path(run)), arguments)


if __name__ == "__main__":
    main()
