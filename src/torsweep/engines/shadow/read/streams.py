"""The rows of ``streams.parquet``.

In: what TGen reported, what was unfinished, what tor traced of either. Out: one row for each download, in the
order of clients and, for each, of starts. All times count from the making of the SOCKS connection's socket.

Of an unfinished download TGen says nothing: the SOCKS reply is tor's, the first byte known to the second in
which it came, its bytes those that tor passed on, and null where that was not traced.
"""

from __future__ import annotations

import polars as pl

from torsweep.engines.shadow.layout import Layout
from torsweep.engines.shadow.read.clock import Clock
from torsweep.engines.shadow.read.tgen import TgenLog
from torsweep.engines.table_schema import STREAMS


def all_downloads(tgen: TgenLog, unfinished: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Reported and unfinished downloads below each other; unfinished ones have no report, port or end.

    Adds server and server_address. A TGen that resolved no name logs the address alone.
    """
    names = dict(layout.servers)
    addresses = {name: address for address, name in layout.servers.items()}
    remote = pl.col("remote").str.split(":")
    reported = tgen.downloads.with_columns(
        pl.col("port").cast(pl.Int64),
        server=pl.when(remote.list.first() != "NULL")
        .then(remote.list.first())
        .otherwise(
            remote.list.get(1, null_on_oob=True).replace_strict(names, default=None, return_dtype=pl.String)
        ),
    ).drop("remote", "line")
    return pl.concat([reported, unfinished], how="diagonal").with_columns(
        server_address=pl.col("server").replace_strict(addresses, default=None, return_dtype=pl.String)
    )


def stream_rows(downloads: pl.DataFrame, layout: Layout, clock: Clock, bytes_traced: bool) -> pl.DataFrame:
    """The columns of the streams table, and beside them ``log`` (index of the client) and ``tor_stream``.

    ``downloads`` are those of :func:`.circuits.traced_downloads`; ``bytes_traced``
    says whether OnionTrace was asked for the bytes of streams.
    """
    names = pl.Series(list(layout.clients), dtype=pl.String)
    kinds = pl.Series(list(layout.clients.values()), dtype=pl.String)
    ordered = downloads.sort("log", "created_us", "id", nulls_last=True)
    return (
        ordered.with_columns(
            outcome=_outcome(),
            client=names.gather(ordered["log"]),
            kind=kinds.gather(ordered["log"]),
            stream=pl.int_range(pl.len(), dtype=pl.Int64).over("log") + 1,
            start_us=clock.since_start("created_us"),
            error=pl.when(pl.col("stream_error") == "PROXY")
            .then(pl.format("PROXY-{}-{}", "transport_error", "transport_state"))
            .otherwise("stream_error"),
        )
        .with_columns(*_times(clock), bytes_got=_bytes_got(bytes_traced))
        .with_columns(
            error=pl.when(pl.col("outcome") == "failed").then("error"),
            first_byte_after_command_us=pl.col("first_byte_us") - pl.col("command_us"),
            last_byte_after_command_us=pl.col("last_byte_us") - pl.col("command_us"),
        )
        .select(*STREAMS.polars, "log", "tor_stream")
    )


def _outcome() -> pl.Expr:
    late = (pl.col("stream_error") == "TIMEOUT") | (
        (pl.col("stream_error") == "PROXY") & (pl.col("transport_error") == "TIMEOUT")
    )
    return (
        pl.when(pl.col("report").is_null())
        .then(pl.lit("unfinished"))
        .when(pl.col("report") == "success")
        .then(pl.lit("complete"))
        .when(late)
        .then(pl.lit("timeout"))
        .otherwise(pl.lit("failed"))
    )


def _times(clock: Clock) -> list[pl.Expr]:
    reported = pl.col("report").is_not_null()
    complete = pl.col("outcome") == "complete"
    connected = pl.col("connected_us") - pl.col("created_us")
    return [
        pl.when(reported).then("socks_reply_us").otherwise(connected).alias("socks_reply_us"),
        # TGen sends its command as soon as the reply is there.
        pl.when(reported).then("command_us").otherwise(connected).alias("command_us"),
        pl.when(reported)
        .then("first_byte_us")
        .when(pl.col("connected_us").is_not_null())
        .then(pl.col("traced_first_us") - pl.col("created_us"))
        .alias("first_byte_us"),
        pl.when(complete).then("last_byte_us").alias("last_byte_us"),
        pl.when(complete)
        .then("last_byte_us")
        .otherwise(pl.col("ended_us").fill_null(clock.end_us) - pl.col("created_us"))
        .alias("observed_us"),
    ]


def _bytes_got(bytes_traced: bool) -> pl.Expr:
    got_none = pl.col("tor_stream").is_not_null() & (pl.col("connected_us").is_null() | bytes_traced)
    return (
        pl.when(pl.col("report").is_not_null())
        .then("bytes_got")
        .when(pl.col("connected_us").is_not_null() & pl.col("traced_bytes").is_not_null())
        .then(pl.min_horizontal("traced_bytes", "bytes_wanted"))
        .when(got_none)
        .then(0)
    )
