"""How long cells stay in relays, as a table of experiments/cell_trace.

    python -m bench.cell_rows results/summaries/cell_trace/…/main docs/tables/cell_trace_emulation.csv

In: the summary of a plan whose cells were traced. Out: a CSV file with a row a scheduler and relay: least,
quartiles, mean and greatest of the RELAY cells' times in the relay, the medians of quiet, busy and busiest
circuits, and the medians of the three stages; all in milliseconds, means over networks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from torsweep.storage import write_text

NUMBERS = ("min_ms", "q1_ms", "median_ms", "q3_ms", "mean_ms", "max_ms")
CIRCUITS = ("quiet", "busy", "busiest")
STAGES = ("relaying", "waiting", "writing")
NAMES = {
    "kist_2ms": "KIST 2 ms",
    "kist_10ms": "KIST 10 ms",
    "kist_lite": "KISTLite",
    "vanilla": "Vanilla",
    "relay1": "guard",
    "relay2": "middle",
}
WHERE = ["scheduler", "host"]


def rows(times: pl.DataFrame) -> pl.DataFrame:
    """One row a scheduler and relay, of ``cell_times.csv``."""
    every = times.filter(
        (pl.col("direction") == "any") & (pl.col("command") == "any"), pl.col("queue") == "any"
    )
    total = every.filter(pl.col("stage") == "total")
    wide = total.filter(pl.col("circuits") == "all").select(*WHERE, "cell_count", *NUMBERS)
    for circuits in CIRCUITS:
        own = total.filter(pl.col("circuits") == circuits)
        wide = wide.join(
            own.select(*WHERE, pl.col("median_ms").alias(f"{circuits}_ms")), on=WHERE, how="left"
        )
    for stage in STAGES:
        own = every.filter((pl.col("circuits") == "all") & (pl.col("stage") == stage))
        wide = wide.join(own.select(*WHERE, pl.col("median_ms").alias(f"{stage}_ms")), on=WHERE, how="left")
    return wide.with_columns(pl.col(WHERE).replace(NAMES))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="How long cells stay in relays, for a document.")
    parser.add_argument("summary", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    times = pl.read_csv(arguments.summary / "cell_times.csv")
    write_text(arguments.out, rows(times).write_csv(float_precision=6))


if __name__ == "__main__":
    main()
