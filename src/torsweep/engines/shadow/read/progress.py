"""The rows of ``progress.parquet``.

In: the downloads of a run, and how many bytes each had at which time. Out: the bytes that each had at each
time. TGen's own lines, at log level ``info``, have payload at each read; tor's STREAM_BW events have a figure
a second, right to within a few bytes.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from torsweep.engines.shadow.read.circuits import stream_growth
from torsweep.engines.shadow.read.clock import Clock
from torsweep.engines.shadow.read.oniontrace import Events
from torsweep.engines.shadow.read.tgen import TgenLog
from torsweep.engines.table_schema import PROGRESS
from torsweep.errors import InputError


def progress_rows(
    streams: pl.DataFrame, tgen: TgenLog, events: Events, clock: Clock, hosts: Path
) -> pl.DataFrame:
    """The progress table of the downloads in ``streams``, from the finer of the two sources.

    Raises InputError when the logs in ``hosts`` hold neither: without them, progress is not known.
    """
    if tgen.growth.height:
        # TGen numbers the downloads of a client from 0, in the order of their starts.
        grown = tgen.growth.with_columns(stream=pl.col("id") + 1).join(streams, on=["log", "stream"])
    elif events.stream_bytes.height:
        grown = stream_growth(events).join(streams.drop("bytes_got"), on=["log", "tor_stream"])
        grown = grown.with_columns(bytes_got=pl.min_horizontal("bytes_by_then", "bytes_wanted"))
    else:
        raise InputError(
            "the run asks for the progress of downloads, which no log tells",
            file=hosts,
            accepted="OnionTrace with STREAM_BW among its events, or TGen at log level info",
        )
    return (
        grown.with_columns(clock.since_start("time_us").alias("time_us"))
        .select(list(PROGRESS.polars))
        .sort("client", "stream", "time_us", "bytes_got")
    )
