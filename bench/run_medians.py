"""The quantiles of one run, as its summary would have them.

In: the folder of a finished run. Out: quantiles over the downloads that started after the warm-up.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.runsets.run import read_table
from torsweep.stats.streams.medians import run_quantiles


def quantiles_of_run(directory: Path) -> pl.DataFrame:
    """:func:`~torsweep.stats.streams.medians.run_quantiles` of one run."""
    run = read_run(directory)
    streams = read_table(directory, STREAMS).filter(pl.col("start_us") >= run.warm_up_ns // 1_000)
    return run_quantiles(streams.with_columns(pl.lit(run.seed).alias("seed")), [])
