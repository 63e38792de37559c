"""The rows of ``streams.parquet``, ``progress.parquet`` and ``received.parquet``.

In: what TGen reported, what was unfinished, what tor traced of both. Out: one row for each download, in the
order of clients and, for each, of starts. All times count from the making of the SOCKS connection's socket.

TGen does not report an unfinished download. Its SOCKS reply is tor's, its first and latest byte are known to
the second, and its bytes are those that tor passed on, or null where that was not traced. At log level info,
TGen tells how downloads grow: the latest byte of unfinished ones, and ``half_us`` and ``most_us``, which are
null without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from torsweep.config.traffic import ONION_SUFFIX
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.oniontrace import Events, stream_growth
from torsweep.engines.shadow.read.tgen import Steps, TgenLog
from torsweep.engines.shadow.simulate import Layout
from torsweep.engines.shadow.traffic import is_end, number_of, user_of
from torsweep.engines.table_schema import PROGRESS, RECEIVED, STREAMS
from torsweep.errors import InputError
from torsweep.units import SECOND_NS, SECOND_US


def progress_rows(
    streams: pl.DataFrame, tgen: TgenLog, events: Events, layout: Layout, hosts: Path
) -> pl.DataFrame:
    """The progress table of the downloads in ``streams``, from the finer of the two sources; InputError when
    the logs in ``hosts`` hold neither."""
    if tgen.growth.height:
        # TGen numbers the downloads of a client from 0, in the order of their starts.
        grown = tgen.growth.with_columns(order=pl.col("id") + 1).join(streams, on=["log", "order"])
    elif events.stream_bytes.height:
        grown = _traced_growth(streams, events)
    else:
        raise InputError(
            "the run asks for the progress of downloads, which no log tells",
            file=hosts,
            accepted="OnionTrace with STREAM_BW among its events, or TGen at log level info",
        )
    return (
        grown.with_columns(layout.since_start("time_us").alias("time_us"))
        .select(list(PROGRESS.polars))
        .sort("client", "stream", "time_us", "bytes_got")
    )


def _traced_growth(streams: pl.DataFrame, events: Events) -> pl.DataFrame:
    """``streams`` at each STREAM_BW event: its ``time_us``, the ``bytes_got`` by then."""
    grown = stream_growth(events).join(streams.drop("bytes_got"), on=["log", "tor_stream"])
    return grown.with_columns(bytes_got=pl.min_horizontal("bytes_by_then", "bytes_wanted"))


def received_rows(streams: pl.DataFrame, events: Events, layout: Layout) -> pl.DataFrame:
    """The table of payload by second and kind, from what tor passed on of the downloads in ``streams``."""
    # tor tells of a stream once a second, and when it closes. What is new counts for the second in which the
    # middle of its span lies: the time since the stream's start or last event, but a second at most.

    def before(column: str) -> pl.Expr:
        return pl.col(column).shift().over("log", "tor_stream", order_by="time_us")

    since_us = pl.max_horizontal(before("time_us"), pl.col("time_us") - SECOND_US, "start_us")
    middle_us = (since_us + pl.col("time_us")) // 2
    seconds = layout.duration_ns // SECOND_NS
    return (
        _traced_growth(streams, events)
        .with_columns(layout.since_start("time_us"))
        .with_columns(
            bytes_got=pl.col("bytes_got") - before("bytes_got").fill_null(0),
            second=middle_us.floordiv(SECOND_US).cast(pl.Int32),
        )
        .filter((pl.col("bytes_got") > 0) & pl.col("second").is_between(0, seconds - 1))
        .group_by("second", "kind")
        .agg(pl.col("bytes_got").sum())
        .select(list(RECEIVED.polars))
        .sort("second", "kind")
    )


_STEP_KEY = ["log", "vertex", "occurrence"]


def unfinished_downloads(logs: Sequence[Log], tgen: TgenLog, steps: Steps, end_us: int) -> pl.DataFrame:
    """``log``, ``vertex``, ``created_us``, ``server``, ``bytes_wanted`` of each download without a report by
    the end of the run, ``end_us``. InputError when a report has no download before it that it could have
    followed: then the log has lost one."""
    begun = tgen.begun.join(steps.first, on="log", maintain_order="left").select(
        "log", "vertex", created_us=pl.col("time_us") + pl.col("pause_us")
    )
    ended = tgen.downloads.select("log", "vertex", "created_us", "ended_us")
    ended = pl.concat([ended.drop("created_us"), _ends_of_pages(ended, steps)])
    followed = ended.join(steps.following, on=["log", "vertex"], maintain_order="left").select(
        "log", vertex="next", created_us=pl.col("ended_us") + pl.col("pause_us")
    )
    expected = _numbered(pl.concat([begun, followed.filter(~is_end("vertex"))]))
    reported = _numbered(tgen.downloads.select("log", "vertex", "created_us", "line"))
    lost = reported.join(expected, on=_STEP_KEY, how="anti").sort("created_us")
    if lost.height:
        raise logs[lost["log"][0]].error(
            "reports a download without the one before it: the log has lost a line",
            line=lost["line"][0],
            value=lost["vertex"][0],
        )
    return (
        expected.join(reported, on=_STEP_KEY, how="anti")
        .filter(pl.col("created_us") < end_us)
        .join(steps.downloads, on=["log", "vertex"], how="left")
        .select("log", "vertex", "created_us", "server", "bytes_wanted")
        .sort("log", "created_us", "vertex")
    )


def _ends_of_pages(ended: pl.DataFrame, steps: Steps) -> pl.DataFrame:
    """``log``, ``vertex``, ``ended_us`` of each end of a page to which all chains of objects have come."""
    into = steps.following.filter(is_end("next")).select("log", "vertex", end="next")
    chains = into.group_by("log", "end").agg(chains=pl.len())
    return (
        _numbered(ended)
        .join(into, on=["log", "vertex"])
        .group_by("log", "end", "occurrence")
        .agg(pl.col("ended_us").max(), came=pl.len())
        .join(chains, on=["log", "end"])
        .filter(pl.col("came") == pl.col("chains"))
        .select("log", vertex="end", ended_us="ended_us")
        .sort("log", "ended_us")
    )


def _numbered(downloads: pl.DataFrame) -> pl.DataFrame:
    """Add ``occurrence``, the number of times the client has reached this step so far."""
    ordered = downloads.sort("log", "created_us", "vertex")
    return ordered.with_columns(occurrence=pl.int_range(pl.len()).over("log", "vertex"))


def all_downloads(tgen: TgenLog, unfinished: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Reported and unfinished downloads below each other, with ``server`` and ``server_address``; unfinished
    ones have no report, port or end."""
    # A TGen that resolved no name logs the address alone.
    names = dict(layout.servers)
    onions = {address: address for address in layout.servers if address.endswith(ONION_SUFFIX)}
    addresses = {name: address for address, name in names.items() if address not in onions} | onions
    remote = pl.col("remote").str.split(":").list
    by_address = remote.get(1, null_on_oob=True).replace_strict(names, default=None, return_dtype=pl.String)
    server = pl.when(remote.first() != "NULL").then(remote.first()).otherwise(by_address)
    with_server = tgen.downloads.with_columns(pl.col("port").cast(pl.Int64), server=server)
    reported = with_server.drop("remote", "line")
    return pl.concat([reported, unfinished], how="diagonal").with_columns(
        server_address=pl.col("server").replace_strict(addresses, default=None, return_dtype=pl.String)
    )


def stream_rows(downloads: pl.DataFrame, growth: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """The columns of the streams table, and ``log`` (index of the client), ``tor_stream``, ``id`` (TGen's
    number) and ``order``, which counts the downloads of a client from 1. ``downloads`` are those of
    :func:`.oniontrace.traced_downloads`, ``growth`` is TGen's."""
    names = pl.Series(list(layout.clients), dtype=pl.String)
    kinds = pl.Series(list(layout.clients.values()), dtype=pl.String)
    ordered = downloads.sort("log", "created_us", "id", nulls_last=True)
    numbered = ordered.with_columns(
        outcome=_outcome(),
        client=user_of("vertex", pl.lit(names.gather(ordered["log"]))),
        kind=kinds.gather(ordered["log"]),
        stream=pl.int_range(pl.len(), dtype=pl.Int64).over("log") + 1,
        start_us=layout.since_start("created_us"),
        error=pl.when(pl.col("stream_error") == "PROXY")
        .then(pl.format("PROXY-{}-{}", "transport_error", "transport_state"))
        .otherwise("stream_error"),
    )
    return (
        numbered.join(_shares(numbered, growth), on=["log", "stream"], how="left", maintain_order="left")
        .with_columns(*_times(layout), bytes_got=_bytes_got())
        .with_columns(
            error=pl.when(pl.col("outcome") == "failed").then("error"),
            first_byte_after_command_us=pl.col("first_byte_us") - pl.col("command_us"),
            last_byte_after_command_us=pl.col("last_byte_us") - pl.col("command_us"),
        )
        .with_columns(order="stream", stream=pl.int_range(pl.len(), dtype=pl.Int64).over("client") + 1)
        .with_columns(stream=number_of("vertex", "stream"))
        .with_columns(pl.col("server").replace(dict(layout.servers)))
        .select(*STREAMS.polars, "log", "tor_stream", "id", "order")
    )


def _shares(downloads: pl.DataFrame, growth: pl.DataFrame) -> pl.DataFrame:
    """``log``, ``stream``, ``half_us``, ``most_us``, and ``grown_us``, the time to the latest byte, of the
    downloads of clients that ``growth`` has."""
    # TGen numbers the downloads of a client from 0, in the order of their starts; of those it did not report
    # the order tells.
    number = pl.coalesce("id", pl.col("stream") - 1)
    grown = growth.select("log", "id", "time_us", by_then="bytes_got")

    by_then, since_us = pl.col("by_then"), pl.col("time_us") - pl.col("created_us")
    # TGen reports the last part of a payload with the whole: a share may be there only with the last byte.
    whole_us = pl.col("last_byte_us").filter(pl.col("outcome") == "complete").first()

    def reached(parts: int, of: int) -> pl.Expr:
        return since_us.filter(of * by_then >= parts * pl.col("bytes_wanted")).min().fill_null(whole_us)

    latest_us = since_us.filter((by_then > 0) & (by_then == by_then.max())).min()
    return (
        downloads.select("log", "stream", "created_us", "bytes_wanted", "last_byte_us", "outcome", id=number)
        .join(growth, on="log", how="semi")
        .join(grown, on=["log", "id"], how="left")
        .group_by("log", "stream")
        .agg(half_us=reached(1, 2), most_us=reached(4, 5), grown_us=latest_us)
    )


def _outcome() -> pl.Expr:
    error, of_proxy = pl.col("stream_error"), pl.col("transport_error")
    late = (error == "TIMEOUT") | ((error == "PROXY") & (of_proxy == "TIMEOUT"))
    return (
        pl.when(pl.col("report").is_null())
        .then(pl.lit("unfinished"))
        .when(pl.col("report") == "success")
        .then(pl.lit("complete"))
        .when(late)
        .then(pl.lit("timeout"))
        .otherwise(pl.lit("failed"))
    )


def _times(layout: Layout) -> list[pl.Expr]:
    reported = pl.col("report").is_not_null()
    complete = pl.col("outcome") == "complete"
    traced = ("connected_us", "traced_first_us", "traced_latest_us")
    connected, traced_first, traced_latest = (pl.col(name) - pl.col("created_us") for name in traced)
    return [
        pl.when(reported).then("socks_reply_us").otherwise(connected).alias("socks_reply_us"),
        # TGen sends its command as soon as the reply is there.
        pl.when(reported).then("command_us").otherwise(connected).alias("command_us"),
        pl.when(reported).then("first_byte_us").otherwise(traced_first).alias("first_byte_us"),
        pl.when(complete).then("last_byte_us").alias("last_byte_us"),
        # In its report of a failure, TGen's time to the last byte is that of the latest.
        pl.when(reported)
        .then("last_byte_us")
        .otherwise(pl.coalesce("grown_us", traced_latest))
        .alias("latest_byte_us"),
        # A download of no bytes is complete without a last one.
        pl.coalesce(
            pl.when(complete).then("last_byte_us"),
            pl.col("ended_us").fill_null(layout.end_us) - pl.col("created_us"),
        ).alias("observed_us"),
    ]


def _bytes_got() -> pl.Expr:
    traced = pl.col("report").is_null() & pl.col("traced_bytes").is_not_null()
    return pl.when(traced).then(pl.min_horizontal("traced_bytes", "bytes_wanted")).otherwise("bytes_got")
