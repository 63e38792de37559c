"""The rows of a comparison of two engines, as a table of docs/fidelity.md or docs/emulation.md.

    python -m bench.fidelity_rows results/fidelity/…/main docs/tables/fidelity_emulation.csv

In: the folder that `torsweep fidelity compare` wrote. Out: a CSV file with a row a variant and network, and
one for each repeat of the reference: greatest gap (KS), medians and ninth deciles of the web clients' first
and last bytes in both. `make docs-tables` then writes it into the document.
"""

from __future__ import annotations

import polars as pl

from bench.writing import write_rows

METRICS = {"ttfb": "first", "ttlb": "last"}
SERIES = {"model": "", "reference repeat": "the reference again: "}
POLICIES = {"ewma": "EWMA", "round_robin": "round-robin"}
NUMBERS = {"ks": "ks", "p50_s": "model_s", "p90_s": "model_p90_s"} | {
    "p50_reference_s": "reference_s",
    "p90_reference_s": "reference_p90_s",
}


def rows(distances: pl.DataFrame) -> pl.DataFrame:
    """One row a series, variant and network; ``first_`` and ``last_`` columns for the two times."""
    web = distances.filter(pl.col("kind") == "web", pl.col("series").is_in(list(SERIES)))
    where = ["series", "refill_interval", "circuit_policy", "seed"]
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
    order = [pl.col("series").replace_strict({name: n for n, name in enumerate(SERIES)}), "seed"]
    return wide.sort(order, maintain_order=True).select(
        variant.alias("variant"),
        pl.col("seed").alias("network"),
        *(pl.col(a).alias(b) for a, b in names.items()),
    )


def main() -> None:
    """Write the table."""
    write_rows(
        "Rows of a comparison of two engines", lambda folder: rows(pl.read_csv(folder / "distances.csv"))
    )


if __name__ == "__main__":
    main()
