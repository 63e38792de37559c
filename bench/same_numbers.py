"""Whether two versions of the statistics say the same of the same runs.

    python -m bench.same_numbers OLD_FOLDER NEW_FOLDER

In: two folders of CSV files, such as the summaries that two commits make of the same tables. Out: for each
file that both have, how many cells of the columns that both have are the same, and what differs. Rows are
matched by their texts, seeds and other whole numbers that tell them apart, so that their order does not
matter. The exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl

KEYS = ("seed", "opened", "stream", "share", "time_s", "second")
"""Numbers that tell rows apart, beside every text."""

DIGITS = 2e-6
"""Files have six significant digits."""

Rows = Mapping[tuple[object, ...], tuple[object, ...]]


def read_rows(file: Path) -> pl.DataFrame:
    """The rows of a file. Of folders that earlier versions made of several sources, repeats are a series."""
    frame = pl.read_csv(file, infer_schema_length=None)
    if "series" in frame.columns:
        repeat = pl.when(pl.col("series") == "repeats").then(pl.lit("+repeat")).otherwise(pl.lit(""))
        frame = frame.with_columns(source=pl.col("source") + repeat).drop("series")
    return frame


def compare_rows(old: pl.DataFrame, new: pl.DataFrame) -> tuple[int, list[str]]:
    """How many numbers both have, and which rows and numbers differ."""
    shared = [name for name in old.columns if name in new.columns]
    keys = [name for name in shared if name in KEYS or old.schema[name] == pl.String]
    numbers = [name for name in shared if name not in keys]
    ours, theirs = (_by_key(frame, keys, numbers) for frame in (old, new))
    differ = [f"only in the old: {key}" for key in ours if key not in theirs]
    differ += [f"only in the new: {key}" for key in theirs if key not in ours]
    for key in [key for key in ours if key in theirs]:
        for name, one, other in zip(numbers, ours[key], theirs[key], strict=True):
            if not _same(one, other):
                differ.append(f"{name} of {key}: {one}, {other}")
    return len(ours) * len(numbers), differ


def _by_key(frame: pl.DataFrame, keys: list[str], numbers: list[str]) -> Rows:
    rows: dict[tuple[object, ...], tuple[object, ...]] = {}
    for row in frame.select(*keys, *numbers).iter_rows():
        key = (*row[: len(keys)], 0)
        while key in rows:
            key = (*key[:-1], key[-1] + 1)
        rows[key] = row[len(keys) :]
    return rows


def _same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=DIGITS, abs_tol=1e-12)
    return one == other


def main(arguments: list[str] | None = None) -> int:
    """The exit code: whether anything differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.same_numbers", description="Compare numbers.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args(arguments)
    names = sorted(file.name for file in options.old.glob("*.csv") if (options.new / file.name).is_file())
    wrong = 0
    for name in names:
        count, differ = compare_rows(*(read_rows(folder / name) for folder in (options.old, options.new)))
        print(f"{name}: {count} numbers, {len(differ)} differences", *differ[:3], sep="\n  ")
        wrong += len(differ)
    print(f"{len(names)} files, {wrong} differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
