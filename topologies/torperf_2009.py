"""Daily medians of Torperf in 2009, when bandwidth authorities began to vote: ``torperf-2009``.

In: medians and quartiles of July to December 2009 at two vantage points, read off published graphs. Out: the
medians as a ``torperf.csv`` of Tor Metrics, which ``experiments/backtest/scripts/public_change.py`` reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl


def derive(data: Path, out: Path) -> dict[str, Any]:
    """Write the file; how many medians it has."""
    table = pl.read_csv(data / "torperf_2009_daily_digitised.csv", comment_prefix="#")
    medians = table.select("date", "filesize", "source", "md").sort("filesize", "source", "date")
    medians.write_csv(out / "torperf-2009.csv")
    return {"torperf-2009": {"medians": medians.height, "days": medians["date"].n_unique()}}
