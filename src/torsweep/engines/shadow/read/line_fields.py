"""What lines of TGen and OnionTrace have in common: how they begin, and fields that are found by name.

In: frames of lines (:mod:`torsweep.engines.shadow.read.logs`). Out: expressions of polars over their column
``text``. Both programs begin a line with local date and time, seconds since 1970 with six decimals, and the
level.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

TEXT = pl.col("text")

TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+\.\d{6} "
"""How every line of both programs begins."""


def time_us() -> pl.Expr:
    """The time of a line, µs since 1970; null where it does not begin with :data:`TIME`."""
    seconds = TEXT.str.extract(r"^\S+ \S+ (\d+)\.\d{6} ").cast(pl.Int64)
    microseconds = TEXT.str.extract(r"^\S+ \S+ \d+\.(\d{6}) ").cast(pl.Int64)
    return (seconds * 1_000_000 + microseconds).alias("time_us")


def words(patterns: Mapping[str, str]) -> list[pl.Expr]:
    """The first group of each pattern, under its name; null where there is no match."""
    return [TEXT.str.extract(pattern).alias(name) for name, pattern in patterns.items()]


def numbers(patterns: Mapping[str, str]) -> list[pl.Expr]:
    """The first group of each pattern as a 64-bit integer, under its name; null where there is none."""
    return [
        TEXT.str.extract(pattern).cast(pl.Int64, strict=False).alias(name)
        for name, pattern in patterns.items()
    ]
