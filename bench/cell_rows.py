"""How long cells stay in relays, as a table of experiments/cell_trace.

    python -m bench.cell_rows results/summaries/cell_trace/…/main docs/tables/cell_trace_emulation.csv

In: the summary of a plan whose cells were traced. Out: a CSV file with a row for each scheduler and relay:
least, quartiles, mean and greatest of the RELAY cells' times in the relay, the medians of quiet, busy and
busiest circuits, and the medians of the three stages; all in milliseconds, means over networks.
"""

from __future__ import annotations

import polars as pl

from bench.writing import write_rows

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
    """One row for each scheduler and relay, of ``cell_times.csv``."""
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
    write_rows(
        "How long cells stay in relays", lambda folder: rows(pl.read_csv(folder / "cell_times.csv")), 6
    )


if __name__ == "__main__":
    main()
