"""Tables for documents from a plan's summary.

    python -m bench.summary_tables medians results/summaries/…/main refill_2012.csv
    python -m bench.summary_tables claim:web_best_at_10ms results/summaries/…/main refill_statistics.csv

In: the folder of a summary. Out: a CSV file. ``medians`` has a row for each variant, in the order of the
plan: means over networks of the medians over downloads, s, with 95 % intervals (``web_first_s``,
``web_first_low_s``, …), and the difference from the baseline in per cent, with intervals that hold for all
variants together (``web_first_difference``, …). A claim's table has a row for each comparison and a column
for each setting, with its verdict in the first row.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from bench.writing import end_with
from plotting.drawing.palette import level_name
from torsweep.errors import InputError
from torsweep.stats.inference.intervals import log_interval
from torsweep.stats.statistic import statistics
from torsweep.storage import write_text

BYTE_OF = {"ttfb": "first", "ttlb": "last"}
DIFFERENCES = {
    "relative": "difference",
    "relative_simultaneous_low": "difference_low",
    "relative_simultaneous_high": "difference_high",
}


def of_medians(medians: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """One row for each variant, of ``medians.csv`` and ``differences.csv``."""
    knobs = medians.columns[medians.columns.index("kind") + 1 : medians.columns.index("seed")]
    table: dict[tuple[str, ...], dict[str, object]] = {}
    of_variants = medians.filter(pl.col("metric").is_in(list(BYTE_OF)))
    for (metric, kind, *levels), own in of_variants.group_by("metric", "kind", *knobs, maintain_order=True):
        variant = tuple(str(level) for level in levels)
        name = f"{kind}_{BYTE_OF[str(metric)]}"
        interval = log_interval(own["median_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy())
        bounds = {"": interval.mean, "_low": interval.low, "_high": interval.high}
        row = table.setdefault(variant, {"variant": ", ".join(map(level_name, variant))})
        row |= {f"{name}{bound}_s": value for bound, value in bounds.items()}
    medians_only = pl.col("estimand") == "median", pl.col("metric").is_in(list(BYTE_OF))
    for one in differences.filter(*medians_only).iter_rows(named=True):
        row = table[tuple(str(one[knob]) for knob in knobs)]
        name = f"{one['kind']}_{BYTE_OF[one['metric']]}"
        row |= {f"{name}_{to}": None if one[of] is None else 100 * one[of] for of, to in DIFFERENCES.items()}
    return pl.DataFrame(list(table.values()), infer_schema_length=None).fill_nan(None)


def of_claim(claims: pl.DataFrame, claim: str) -> pl.DataFrame:
    """The rows of ``claims.csv`` of a claim, with 95 % intervals in per cent; its verdicts come first."""
    rows = claims.filter(claim=claim)
    if rows.is_empty():
        accepted = ", ".join(claims["claim"].unique(maintain_order=True))
        raise InputError("no such claim", key="claim", value=claim, accepted=accepted)
    per_cent = [pl.format("{}", (100 * pl.col(name)).round(1)) for name in ("value", "low", "high")]
    texts = rows.with_columns(text=pl.format("{} [{}, {}]", *per_cent))
    wide = texts.pivot("setting", index="comparison", values="text", maintain_order=True)
    verdicts = rows.unique("setting", maintain_order=True)
    first = pl.DataFrame({"comparison": "verdict"} | dict(verdicts.select("setting", "verdict").rows()))
    table = pl.concat([first, wide], how="diagonal")
    return table.rename({name: name.replace(" ", "_") for name in table.columns})


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.summary_tables")
    parser.add_argument("what", help="medians, or claim:ID")
    parser.add_argument("summary", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    read, (what, _, claim) = statistics(), options.what.partition(":")
    if what == "claim":
        table = of_claim(read["claims"].read(options.summary), claim)
    elif options.what == "medians":
        table = of_medians(*(read[name].read(options.summary) for name in ("medians", "differences")))
    else:
        raise InputError("is no table", key="what", value=options.what, accepted="medians, claim:ID")
    write_text(options.out, table.write_csv(float_precision=4))


if __name__ == "__main__":
    end_with(main)
