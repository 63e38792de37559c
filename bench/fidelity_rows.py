"""The rows of a comparison of two engines, as a table of docs/fidelity.md or docs/emulation.md.

    python -m bench.fidelity_rows results/fidelity/…/main docs/tables/fidelity_emulation.csv

In: the folder that `torsweep fidelity compare` wrote. Out: a CSV file with a row for each variant and
network, and one for each repeat of the reference: greatest gap (KS), medians and ninth deciles of the web
clients' first and last bytes in both; and for the model's, whether the gap's mean over networks is within the
floor + 0.05. `make docs-tables` then writes it into the document.
"""

from __future__ import annotations

import polars as pl

from bench.writing import write_rows
from torsweep.fidelity.comparison import BEYOND, WITHIN

METRICS = {"ttfb": "first", "ttlb": "last"}
SERIES = {"model": "", "reference repeat": "the reference again: "}
POLICIES = {"ewma": "EWMA", "round_robin": "round-robin"}
NUMBERS = {"ks": "ks", "p50_s": "model_s", "p90_s": "model_p90_s"} | {
    "p50_reference_s": "reference_s",
    "p90_reference_s": "reference_p90_s",
}
VERDICTS = {WITHIN: "yes", BEYOND: "no"}
NO_VERDICT = "–"


def rows(distances: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """One row for each series, variant and network of ``distances``; ``first_`` and ``last_`` columns for the
    two times, with what ``cells`` say of the variant."""
    web = distances.filter(pl.col("kind") == "web", pl.col("series").is_in(list(SERIES)))
    knobs = ["refill_interval", "circuit_policy"]
    where = ["series", *knobs, "seed"]
    verdicts = cells.filter(pl.col("kind") == "web").pivot("metric", index=knobs, values="verdict")
    wide = web.select(*where, "metric", *NUMBERS).rename(NUMBERS).pivot("metric", index=where)
    names = {
        f"{number}_{metric}": f"{time}_{number}"
        for metric, time in METRICS.items()
        for number in NUMBERS.values()
    }
    variant = (
        pl.col("series").replace_strict(SERIES)
        + pl.col("refill_interval").str.replace("ms", " ms, ")
        + pl.col("circuit_policy").replace_strict(POLICIES)
    )
    wide = wide.join(verdicts, on=knobs, how="left", maintain_order="left")
    order = [pl.col("series").replace_strict({name: n for n, name in enumerate(SERIES)}), "seed"]
    return wide.sort(order, maintain_order=True).select(
        variant.alias("variant"),
        pl.col("seed").alias("network"),
        *(pl.col(a).alias(b) for a, b in names.items()),
        *(
            pl.when(pl.col("series") == "model")
            .then(pl.col(metric).replace_strict(VERDICTS, default=NO_VERDICT))
            .otherwise(pl.lit(NO_VERDICT))
            .alias(f"{time}_within")
            for metric, time in METRICS.items()
        ),
    )


def main() -> None:
    """Write the table."""
    tables = ("distances.csv", "cells.csv")
    write_rows(
        "Rows of a comparison of two engines",
        lambda folder: rows(*(pl.read_csv(folder / name, infer_schema_length=None) for name in tables)),
    )


if __name__ == "__main__":
    main()
