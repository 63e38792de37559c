"""The medians of one run, as its summary would have them.

In: the folder of a finished run. Out: for each measure the median over the downloads that started after the
warm-up, in seconds; NaN where too few completed.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.runsets.collect import read_table
from torsweep.stats.streams.medians import run_quantiles

MEASURES = {
    "web_ttfb": "web, first byte",
    "web_ttlb": "web, last byte",
    "bulk_ttfb": "bulk, first byte",
}
"""Kind of client and metric, in words. Bulk downloads take longer than short runs."""


def quantiles_of_run(directory: Path) -> pl.DataFrame:
    """:func:`~torsweep.stats.streams.medians.run_quantiles` of one run."""
    run = read_run(directory)
    streams = read_table(directory, STREAMS).filter(pl.col("start_us") >= run.warm_up_ns // 1_000)
    return run_quantiles(streams.with_columns(pl.lit(run.seed).alias("seed")), [])


def medians_of_run(directory: Path) -> dict[str, float]:
    """The median of each of :data:`MEASURES`, seconds."""
    found = quantiles_of_run(directory)
    medians = {
        f"{kind}_{metric}": value for kind, metric, value in found.select("kind", "metric", "median_s").rows()
    }
    return {name: float("nan") if medians.get(name) is None else medians[name] for name in MEASURES}
