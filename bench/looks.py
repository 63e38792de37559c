"""What a source of a comparison shows with an allowance for several looks, and how many networks decide.

    python -m bench.looks results/compare/…/main docs/tables/findings_refill_looks.csv \\
        --source shadow --looks 4

In: the folder that ``torsweep results compare`` wrote. Out: a CSV file with a row for each contrast of web
clients that the source has run on three networks or more: the ratio with its interval at 95 % (``ratio``)
and with one that allows for ``looks`` at growing data (``allowed``, Bonferroni), and about how many networks
like these would show a difference at 95 % (``decides``).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from bench.compare_rows import NOTHING, contrast_words
from torsweep.compare.comparison import read_comparison
from torsweep.compare.text import ratio_text
from torsweep.stats.inference.intervals import CONFIDENCE, MOST, bonferroni, t_quantile
from torsweep.stats.text import SHOWN_METRICS
from torsweep.storage import write_text

FEWEST = 3


def look_rows(table: pl.DataFrame, source: str, looks: int) -> pl.DataFrame:
    """The rows, from the contrasts of a comparison."""
    chosen = table.filter(
        pl.col("kind") == "web",
        pl.col("source") == source,
        pl.col("networks") >= FEWEST,
        pl.col("low").is_not_null(),
    )
    return pl.DataFrame([_row(row, looks) for row in chosen.iter_rows(named=True)])


def _row(row: Mapping[str, Any], looks: int) -> dict[str, object]:
    networks = row["networks"]
    mean, low, high = (math.log(row[name]) for name in ("ratio", "low", "high"))
    error = (high - low) / 2 / t_quantile(CONFIDENCE, networks)
    half = error * t_quantile(bonferroni(CONFIDENCE, looks), networks)
    return {
        "time": f"{row['kind']}, {SHOWN_METRICS[row['metric']]}",
        "contrast": contrast_words(row),
        "networks": networks,
        "ratio": ratio_text(row),
        "allowed": ratio_text({**row, "low": math.exp(mean - half), "high": math.exp(mean + half)}),
        "decides": deciding(mean, error * math.sqrt(networks), networks),
    }


def deciding(mean: float, spread: float, networks: int) -> str:
    """About how many networks decide a mean of such values (standard deviation ``spread``).

    "–" if the ``networks`` do, "never" beyond :data:`~torsweep.stats.inference.intervals.MOST`.
    """

    def decided(number: int) -> bool:
        return abs(mean) > spread * t_quantile(CONFIDENCE, number) / math.sqrt(number)

    if decided(networks):
        return NOTHING
    return str(next(filter(decided, range(networks + 1, MOST)), "never"))


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.looks")
    parser.add_argument("comparison", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--looks", type=int, required=True)
    given = parser.parse_args(arguments)
    rows = look_rows(read_comparison(given.comparison).tables["contrasts"], given.source, given.looks)
    write_text(given.out, rows.write_csv())


if __name__ == "__main__":
    main()
