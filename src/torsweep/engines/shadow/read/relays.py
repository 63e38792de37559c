"""The rows of ``relays.parquet``.

In: OnionTrace's BW events of the relays. Out: bytes in and out of each relay in each second of the run. Under
Shadow nothing tells the length of tor's queues or its CPU time: those columns are null.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torsweep.engines.shadow.read.clock import Clock
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.oniontrace import Events
from torsweep.engines.table_schema import RELAYS

_HALF_SECOND_US = 500_000


def telling_logs(events: Events) -> list[int]:
    """The numbers of the logs that have a BW event, in order."""
    return sorted(events.bandwidth["log"].unique().to_list())


def relay_rows(events: Events, logs: Sequence[Log], clock: Clock) -> pl.DataFrame:
    """A row for each second and each relay of ``logs`` that told anything, by second, then as in ``logs``.

    OnionTrace listens once a tor has built a circuit of its own, which a relay of a single path never does:
    nothing is known about such a relay, so it has no rows. tor tells of the second before, at any phase of a
    second: an event counts for the whole second in which the middle of its span lies. Seconds without an
    event, which tor leaves out when it is late, are 0.
    """
    seconds = (clock.end_us - clock.start_us) // 1_000_000
    told = telling_logs(events)
    relays = {"log": told, "relay": [logs[number].host for number in told]}
    grid = pl.DataFrame({"second": pl.int_range(seconds, dtype=pl.Int32, eager=True)}).join(
        pl.DataFrame(relays, schema={"log": pl.Int64, "relay": pl.String}), how="cross"
    )
    second = (clock.since_start("time_us") - _HALF_SECOND_US).floordiv(1_000_000)
    carried = (
        events.bandwidth.with_columns(second=second.cast(pl.Int32))
        .group_by("log", "second")
        .agg(pl.col("bytes_in", "bytes_out").sum())
    )
    rows = grid.join(carried, on=["log", "second"], how="left", maintain_order="left").with_columns(
        pl.col("bytes_in", "bytes_out").fill_null(0),
        *(pl.lit(None, RELAYS.polars[name]).alias(name) for name in _UNTRACED),
    )
    return rows.select(list(RELAYS.polars))


_UNTRACED = ("queued_cells", "queued_cells_max", "outbuf_bytes", "cpu_us")
