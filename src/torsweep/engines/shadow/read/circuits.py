"""Circuits of clients, and which of them carried which download.

In: OnionTrace's events of the clients, and their downloads. Out: what tor knows of each download
(:func:`traced_downloads`) and a row for each circuit (:func:`circuit_rows`).

TGen's connection and tor's stream are matched by the port of the connection, which both name; a download
without a report is matched with what is left over, in order.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torsweep.config.features import CIRCUIT_KEYWORDS
from torsweep.engines.shadow.read.oniontrace import Events
from torsweep.engines.table_schema import CIRCUITS

_CARRIED = ("SENTCONNECT", "SUCCEEDED")
_BUILDING_STATUSES = ("LAUNCHED", "BUILT", "FAILED")
"""A circuit with one of these events was not open before anybody listened."""

_ENDED = ("CLOSED", "FAILED")

BEFORE_PAYLOAD_BYTES = 80
"""What tor counts among the bytes of a stream before the first of the payload: a SOCKS 5 proxy's replies
(method 2, connection 10; RFC 1928) and the header of TGen's answer, 68 with a server's name of seven letters.
A password adds 2, a longer name its letters: bytes of unfinished downloads are right to within a few."""

_LEAST_PAYLOAD_BYTES = 16
"""Fewer bytes may be a rest of the header; payload arrives in whole cells."""


def tor_streams(events: Events) -> pl.DataFrame:
    """A row for each stream that an application asked for.

    Columns: log, tor_stream, new_us, port, target, circuit (that carried it last; null: none did),
    connected_us (null: never), closed_us (null: still open).
    """
    new = events.streams.filter((pl.col("status") == "NEW") & (pl.col("purpose") == "USER"))
    first_us = pl.col("time_us").min()
    carried = _carried()
    fates = events.streams.group_by("log", "tor_stream").agg(
        circuit=pl.col("circuit").filter(carried).last(),
        connected_us=pl.col("time_us").filter(pl.col("status") == "SUCCEEDED").min(),
        closed_us=pl.col("time_us").filter(pl.col("status").is_in(_ENDED)).max(),
    )
    return (
        new.group_by("log", "tor_stream")
        .agg(pl.col("port").first().cast(pl.Int64), pl.col("target").first(), new_us=first_us)
        .join(fates, on=["log", "tor_stream"], how="left")
        .sort("log", "new_us", "tor_stream")
    )


def traced_downloads(downloads: pl.DataFrame, streams: pl.DataFrame, events: Events) -> pl.DataFrame:
    """``downloads`` with what tor says of each.

    ``downloads`` has log, created_us, ended_us and port (null: without a report), server_address. Added are
    tor_stream, circuit, connected_us, traced_first_us and traced_latest_us (ends of the seconds in which the
    first and the latest byte came) and traced_bytes (by STREAM_BW events); null where OnionTrace saw nothing.
    """
    reported = downloads.filter(pl.col("port").is_not_null()).sort("created_us")
    matched = reported.join_asof(
        streams.sort("new_us").select("log", "port", "new_us", "tor_stream"),
        left_on="created_us",
        right_on="new_us",
        by=["log", "port"],
        strategy="forward",
        check_sortedness=False,
    ).with_columns(tor_stream=pl.when(pl.col("new_us") <= pl.col("ended_us")).then("tor_stream"))
    left_over = streams.join(matched.drop_nulls("tor_stream"), on=["log", "tor_stream"], how="anti")
    order = pl.int_range(pl.len()).over("log", "server_address").alias("order")
    open_ones = downloads.filter(pl.col("port").is_null()).sort("log", "created_us").with_columns(order)
    since = open_ones.group_by("log").agg(since_us=pl.col("created_us").min())
    candidates = (
        left_over.join(since, on="log")
        .filter((pl.col("new_us") >= pl.col("since_us")) & pl.col("closed_us").is_null())
        .with_columns(server_address=pl.col("target").str.extract(r"^(.*):\d+$"))
        .sort("log", "new_us")
        .with_columns(order)
        .select("log", "server_address", "order", "new_us", "tor_stream")
    )
    guessed = open_ones.join(candidates, on=["log", "server_address", "order"], how="left")
    both = pl.concat([matched, guessed.select(matched.columns)])
    known = streams.select("log", "tor_stream", "circuit", "connected_us")
    return (
        both.drop("new_us")
        .join(known, on=["log", "tor_stream"], how="left")
        .join(_stream_totals(events), on=["log", "tor_stream"], how="left")
    )


def stream_growth(events: Events) -> pl.DataFrame:
    """STREAM_BW events with ``bytes_by_then`` for ``bytes_got``: those of the payload."""
    so_far = pl.col("bytes_got").cum_sum().over("log", "tor_stream", order_by="time_us")
    return events.stream_bytes.select(
        "log",
        "tor_stream",
        "time_us",
        bytes_by_then=(so_far - BEFORE_PAYLOAD_BYTES).clip(lower_bound=0),
    )


def _stream_totals(events: Events) -> pl.DataFrame:
    """log, tor_stream, traced_first_us, traced_latest_us, traced_bytes of each stream that got any bytes."""
    all_there = pl.col("bytes_by_then") == pl.col("bytes_by_then").max()
    return (
        stream_growth(events)
        .filter(pl.col("bytes_by_then") >= _LEAST_PAYLOAD_BYTES)
        .group_by("log", "tor_stream")
        .agg(
            traced_first_us=pl.col("time_us").min(),
            traced_latest_us=pl.col("time_us").filter(all_there).min(),
            traced_bytes=pl.col("bytes_by_then").max(),
        )
    )


def circuit_rows(events: Events, streams: pl.DataFrame, relays: Mapping[str, str]) -> pl.DataFrame:
    """A row for each circuit: log, circuit, purpose, launched_us, built_us, closed_us, close_reason, path,
    first_use_us, streams, bytes_read, and the columns of features of tor.

    ``relays`` maps fingerprints to names; a relay that is not in it keeps its fingerprint. A circuit that tor
    had built before OnionTrace started to listen has no ``launched_us``, and no ``path`` when tor did not
    list it either.
    """
    status = pl.col("status")
    seen = (
        events.circuits.sort("log", "time_us", maintain_order=True)
        .group_by("log", "circuit")
        .agg(
            pl.col("purpose").drop_nulls().last(),
            *(
                pl.col(name).drop_nulls().last().cast(CIRCUITS.polars[name], strict=False)
                for name in CIRCUIT_KEYWORDS
            ),
            launched_us=pl.when(status.is_in(_BUILDING_STATUSES).any()).then(
                pl.coalesce(_created_us().min(), pl.col("time_us").filter(status == "LAUNCHED").min())
            ),
            built_us=pl.col("time_us").filter(status == "BUILT").min(),
            closed_us=pl.col("time_us").filter(status.is_in(_ENDED)).min(),
            close_reason=pl.col("reason").filter(status.is_in(_ENDED)).first(),
            # EXTENDED events carry the path so far; the longest is the whole.
            path=pl.col("path").drop_nulls().sort_by(pl.col("path").drop_nulls().str.len_bytes()).last(),
        )
    )
    attached = events.streams.filter(_carried()).join(streams, on=["log", "tor_stream"], how="semi")
    uses = attached.group_by("log", "circuit").agg(first_use_us=pl.col("time_us").min())
    carried = streams.drop_nulls("circuit").group_by("log", "circuit").agg(streams=pl.len().cast(pl.Int64))
    used = uses.join(carried, on=["log", "circuit"], how="left")
    got = events.circuit_bytes.group_by("log", "circuit").agg(pl.col("bytes_read").sum())
    names = pl.element().str.extract(r"([0-9A-F]{40})").replace(dict(relays))
    return (
        seen.join(used, on=["log", "circuit"], how="full", coalesce=True)
        .join(got, on=["log", "circuit"], how="left")
        .with_columns(
            pl.col("streams").fill_null(0),
            path=pl.col("path").str.split(",").list.eval(names).list.join(","),
        )
        .sort("log", "circuit")
    )


def _created_us() -> pl.Expr:
    """When tor launched a circuit, µs since 1970, as its events say it."""
    when = pl.col("created").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    return when.dt.epoch("us")


def _carried() -> pl.Expr:
    """Whether a STREAM event tells which circuit the stream is on."""
    return pl.col("status").is_in(_CARRIED) & (pl.col("circuit") > 0)
