"""The rows of a plan's summary, as a table of an experiment's README.

    python -m bench.summary_rows results/summaries/…/main docs/tables/scheduler_choice.csv

In: the summary of a plan. Out: a CSV file with a row for each variant, in the order of the plan: means over
networks of the medians over downloads, in seconds, with 95 % t-intervals (``web_first_s``,
``web_first_low_s``, ``web_first_high_s``; the same for ``last`` and ``bulk``), and the difference from the
baseline in percent, paired by network, with intervals that hold for all variants together
(``web_first_difference``, …). A median that was not reached in every network leaves its cells empty.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from plotting.drawing.palette import level_name
from torsweep.stats.inference.intervals import log_interval
from torsweep.storage import write_text

BYTE_OF = {"ttfb": "first", "ttlb": "last"}
DIFFERENCE_COLUMNS = {
    "relative": "difference",
    "relative_simultaneous_low": "difference_low",
    "relative_simultaneous_high": "difference_high",
}


def rows(medians: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """One row for each variant, of ``medians.csv`` and ``differences.csv``."""
    knobs = medians.columns[medians.columns.index("kind") + 1 : medians.columns.index("seed")]
    table: dict[tuple[str, ...], dict[str, object]] = {}
    of_variants = medians.filter(pl.col("metric").is_in(list(BYTE_OF)))
    for (metric, kind, *levels), own in of_variants.group_by("metric", "kind", *knobs, maintain_order=True):
        variant = tuple(str(level) for level in levels)
        name = f"{kind}_{BYTE_OF[str(metric)]}"
        interval = log_interval(own["median_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy())
        row = table.setdefault(variant, {"variant": ", ".join(map(level_name, variant))})
        row.update(
            {
                f"{name}_s": interval.mean,
                f"{name}_low_s": interval.low,
                f"{name}_high_s": interval.high,
            }
        )
    for difference in differences.filter(pl.col("estimand") == "median").iter_rows(named=True):
        if difference["metric"] in BYTE_OF:
            name = f"{difference['kind']}_{BYTE_OF[difference['metric']]}"
            row = table[tuple(str(difference[knob]) for knob in knobs)]
            row.update({f"{name}_{to}": _percent(difference[of]) for of, to in DIFFERENCE_COLUMNS.items()})
    return pl.DataFrame(list(table.values()), infer_schema_length=None).fill_nan(None)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Write the rows of a plan's summary for a document.")
    parser.add_argument("summary", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    medians, differences = (
        pl.read_csv(options.summary / name, infer_schema_length=None)
        for name in ("medians.csv", "differences.csv")
    )
    write_text(options.out, rows(medians, differences).write_csv(float_precision=4))


if __name__ == "__main__":
    main()
