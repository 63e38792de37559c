"""What the web clients' first bytes waited for, as a table of experiments/latency_breakdown.

    python -m bench.breakdown_rows results/summaries/…/main docs/tables/latency_breakdown_emulation.csv

In: the summary of a plan whose downloads were followed. Out: a CSV file with a row for each variant: how many
web downloads, the mean time to the first byte and the mean of each group of its parts, in milliseconds; means
over networks.
"""

from __future__ import annotations

import polars as pl

from bench.writing import write_rows
from plotting.drawing.palette import level_name


def rows(runs: pl.DataFrame) -> pl.DataFrame:
    """One row for each variant, of ``breakdown_runs.csv``."""
    knobs = runs.columns[1 : runs.columns.index("kind")]
    own = runs.filter(pl.col("kind") == "web", pl.col("byte") == "first")
    downloads = own.group_by(*knobs, "group").agg(pl.col("downloads").sum())
    counted = downloads.group_by(knobs).agg(pl.col("downloads").max())
    means = own.group_by(*knobs, "group", maintain_order=True).agg(pl.col("mean_ms").mean())
    wide = means.pivot("group", index=knobs, values="mean_ms")
    groups = [column for column in wide.columns if column not in knobs]
    names = [pl.col(knob).map_elements(level_name, return_dtype=pl.String) for knob in knobs]
    return wide.join(counted, on=knobs, how="left", maintain_order="left").select(
        pl.concat_str(names, separator=", ").alias("variant"),
        "downloads",
        pl.sum_horizontal(groups).alias("total_ms"),
        *(pl.col(group).alias(f"{group}_ms") for group in groups),
    )


def main() -> None:
    """Write the table."""
    write_rows(
        "What first bytes waited for", lambda folder: rows(pl.read_csv(folder / "breakdown_runs.csv")), 4
    )


if __name__ == "__main__":
    main()
