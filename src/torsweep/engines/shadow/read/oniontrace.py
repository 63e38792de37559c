"""What OnionTrace logs of tor: bandwidth of relays, circuits and streams of clients.

In: the standard output of OnionTrace in mode ``log``; the clients' downloads. Out: :class:`Events` (Tor's
control-spec, section 4.1); the rows of ``relays.parquet``; a row for each circuit, and which of them carried
which download.

TGen's connection and tor's stream are matched by the port of the connection, which both name; a download
without a report is matched with what is left over, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.config.conflux import CIRCUIT_KEYWORDS
from torsweep.engines.shadow.read.logs import (
    TEXT,
    TIME,
    Log,
    check_fields,
    check_versions,
    numbers,
    parse_logs,
    time_us,
    words,
)
from torsweep.engines.shadow.simulate import Layout
from torsweep.engines.table_schema import CIRCUITS, RELAYS
from torsweep.units import SECOND_NS

HALF_SECOND_US = 500_000


def telling_logs(events: Events) -> list[int]:
    """The numbers of the logs that have a BW event, in order."""
    return sorted(events.bandwidth["log"].unique().to_list())


def relay_rows(
    events: Events, logs: Sequence[Log], layout: Layout, earlier_us: int = HALF_SECOND_US
) -> pl.DataFrame:
    """A row for each second and each relay of ``logs`` with an event, by second, then as in ``logs``.

    OnionTrace listens once a tor has built a circuit of its own, which a relay of a single path never does:
    such a relay has no rows. tor tells of the second before, at any phase of a second: an event counts for
    the second in which the middle of its span lies, ``earlier_us`` before it. Seconds without an event, which
    tor leaves out when it is late, are 0.
    """
    seconds = layout.duration_ns // SECOND_NS
    with_events = telling_logs(events)
    relays = {"log": with_events, "relay": [logs[number].host for number in with_events]}
    grid = pl.DataFrame({"second": pl.int_range(seconds, dtype=pl.Int32, eager=True)}).join(
        pl.DataFrame(relays, schema={"log": pl.Int64, "relay": pl.String}), how="cross"
    )
    second = (layout.since_start("time_us") - earlier_us).floordiv(1_000_000)
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


OLDEST_ONIONTRACE = (1, 0, 0)

_ONIONTRACE_LINE = TIME + r"\[\w+\] \[\w+\] "
_EVENT = r" Logger: 650[ +-]([A-Z_]+) "
_KNOWN = ("BW", "CIRC", "CIRC_MINOR", "CIRC_BW", "STREAM", "STREAM_BW", "STATUS_CLIENT")

CLIENT_EVENTS = "CIRC,STREAM,STREAM_BW\r\nGETINFO,circuit-status"
"""The events that OnionTrace asks the tor of a client for, and a question: which circuits exist already?

It may register for events only when tor has a circuit, which is the one that a client then uses first.
OnionTrace passes the list on to tor, with blanks for commas, and logs the answer like an event.
"""

_QUESTION = CLIENT_EVENTS.partition("\r\n")[2]

_BW = {"bytes_in": r" 650 BW (\d+) \d+", "bytes_out": r" 650 BW \d+ (\d+)"}
_CIRC = {
    "status": r" 650 CIRC(?:_MINOR)? \d+ ([A-Z_]+)",
    "path": r" 650 CIRC(?:_MINOR)? \d+ [A-Z_]+ (\$\S+)",
    "purpose": r" PURPOSE=(\S+)",
    "reason": r" REASON=(\S+)",
    "created": r" TIME_CREATED=(\S+)",
    **{column: rf" {keyword}=(\S+)" for column, keyword in CIRCUIT_KEYWORDS.items()},
}
_CIRC_ID = {"circuit": r" 650 CIRC(?:_MINOR)? (\d+) "}
_CIRC_BW = {"circuit": r" 650 CIRC_BW ID=(\d+) ", "bytes_read": r" READ=(\d+)"}
_LISTED = r" Logger: (?:250-circuit-status=)?(\d+) [A-Z_]+ \$"
_LISTED_PATH = {"path": r" (\$\S+)", "purpose": r" PURPOSE=(\S+)"}
LISTED = "LISTED"
"""The status of a circuit in the answer to :data:`CLIENT_EVENTS`: it was built at some time before."""
_STREAM = {
    "status": r" 650 STREAM \d+ ([A-Z_]+)",
    "target": r" 650 STREAM \d+ [A-Z_]+ \d+ (\S+)",
    "port": r" SOURCE_ADDR=\S*:(\d+)",
    "purpose": r" PURPOSE=(\S+)",
}
_STREAM_IDS = {
    "tor_stream": r" 650 STREAM (\d+) ",
    "circuit": r" 650 STREAM \d+ [A-Z_]+ (\d+)",
}
# Seen from tor: what it wrote to the application is what the application got.
_STREAM_BW = {"tor_stream": r" 650 STREAM_BW (\d+) ", "bytes_got": r" 650 STREAM_BW \d+ \d+ (\d+)"}


@dataclass(frozen=True)
class Events:
    """Events of all logs; each frame has ``log`` (index) and ``time_us`` (since 1970).

    ``bandwidth``: bytes_in, bytes_out of the second before. ``circuits``: circuit, status, path, purpose,
    reason, created (when tor launched it, as a text), and what features of tor say, as texts.
    ``circuit_bytes``: circuit, bytes_read since the event before. ``streams``: tor_stream, status, circuit
    (0: none), target, port, purpose. ``stream_bytes``: tor_stream, bytes_got since the event before.
    ``versions`` (log, line, version).
    """

    bandwidth: pl.DataFrame
    circuits: pl.DataFrame
    circuit_bytes: pl.DataFrame
    streams: pl.DataFrame
    stream_bytes: pl.DataFrame
    versions: pl.DataFrame
    lines: int
    unknown_lines: int


def read_oniontrace(logs: Sequence[Log]) -> Events:
    """Read ``logs``; InputError, with file and line, for a version that is too old, an event of a known kind
    without one of its fields, and a log that is cut off."""
    events = parse_logs(logs, lambda lines: _parse(logs, lines))
    check_versions(logs, events.versions, "OnionTrace", OLDEST_ONIONTRACE)
    return events


def _parse(logs: Sequence[Log], lines: pl.DataFrame) -> Events:
    lines = lines.with_columns(*words({"event": _EVENT}))
    others = lines.filter(pl.col("event").is_null())
    strange = lines.filter(pl.col("event").is_in(_KNOWN).not_()).height
    shaped = TEXT.str.contains(_ONIONTRACE_LINE) | TEXT.str.starts_with(_QUESTION)
    shapeless = others.filter(~shaped).height
    listed = (
        others.with_columns(time_us(), *numbers({"circuit": _LISTED}), *words(_LISTED_PATH))
        .drop_nulls("circuit")
        .select("log", "time_us", "circuit", "path", "purpose", status=pl.lit(LISTED))
    )

    def events(
        kind: str, texts: dict[str, str], integers: dict[str, str], needed: Sequence[str]
    ) -> pl.DataFrame:
        of_kind = lines.filter(pl.col("event") == kind)
        fields = of_kind.with_columns(time_us(), *words(texts), *numbers(integers))
        check_fields(
            logs, fields, ("time_us", *needed), f"{kind} event", "an event as Tor's control-spec has it"
        )
        return fields.select("log", "time_us", *integers, *texts)

    needed = ["circuit", "status"]
    circuits = (events(kind, _CIRC, _CIRC_ID, needed) for kind in ("CIRC", "CIRC_MINOR"))
    return Events(
        bandwidth=events("BW", {}, _BW, list(_BW)),
        circuits=pl.concat([listed, *circuits], how="diagonal"),
        circuit_bytes=events("CIRC_BW", {}, _CIRC_BW, list(_CIRC_BW)),
        streams=events("STREAM", _STREAM, _STREAM_IDS, ["tor_stream", "circuit", "status"]),
        stream_bytes=events("STREAM_BW", {}, _STREAM_BW, list(_STREAM_BW)),
        versions=others.select(
            "log", "line", *words({"version": r" Starting OnionTrace v(\S+) "})
        ).drop_nulls(),
        lines=lines.height,
        unknown_lines=strange + shapeless,
    )


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
    """A row for each stream that an application asked for: log, tor_stream, new_us, port, target, circuit
    (that carried it last; null: none did), connected_us (null: never), closed_us (null: still open)."""
    new = events.streams.filter((pl.col("status") == "NEW") & (pl.col("purpose") == "USER"))
    fates = events.streams.group_by("log", "tor_stream").agg(
        circuit=pl.col("circuit").filter(_carried()).last(),
        connected_us=pl.col("time_us").filter(pl.col("status") == "SUCCEEDED").min(),
        closed_us=pl.col("time_us").filter(pl.col("status").is_in(_ENDED)).max(),
    )
    return (
        new.group_by("log", "tor_stream")
        .agg(pl.col("port").first().cast(pl.Int64), pl.col("target").first(), new_us=pl.col("time_us").min())
        .join(fates, on=["log", "tor_stream"], how="left")
        .sort("log", "new_us", "tor_stream")
    )


def traced_downloads(downloads: pl.DataFrame, events: Events) -> pl.DataFrame:
    """``downloads`` with what tor says of each.

    ``downloads`` has log, created_us, ended_us and port (null: without a report), server_address. Added are
    tor_stream, circuit, connected_us, traced_first_us and traced_latest_us (ends of the seconds in which the
    first and the latest byte came) and traced_bytes (by STREAM_BW events); null where OnionTrace saw nothing.
    """
    streams = tor_streams(events)
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
    connected = pl.col("connected_us").is_not_null()
    traced = (
        both.drop("new_us")
        .join(known, on=["log", "tor_stream"], how="left")
        .join(_stream_totals(events), on=["log", "tor_stream"], how="left")
    )
    # A stream without a byte has no event; where no stream has one, OnionTrace was not asked for them.
    least = pl.lit(None if events.stream_bytes.is_empty() else 0, pl.Int64)
    return traced.with_columns(
        *(pl.when(connected).then(name).alias(name) for name in ("traced_first_us", "traced_latest_us")),
        traced_bytes=pl.when(connected)
        .then(pl.coalesce("traced_bytes", least))
        .when(pl.col("tor_stream").is_not_null())
        .then(0),
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


def circuit_rows(events: Events, relays: Mapping[str, str]) -> pl.DataFrame:
    """A row for each circuit: log, circuit, purpose, launched_us, built_us, closed_us, close_reason, path,
    first_use_us, streams, bytes_read, and the columns of features of tor. ``relays`` maps fingerprints to
    names; others keep their fingerprint. A circuit that tor had built before OnionTrace started to listen has
    no ``launched_us``, and no ``path`` when tor did not list it either."""
    status, streams = pl.col("status"), tor_streams(events)
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
    when = pl.col("created").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    return when.dt.epoch("us")


def _carried() -> pl.Expr:
    # The STREAM events that tell which circuit the stream is on.
    return pl.col("status").is_in(_CARRIED) & (pl.col("circuit") > 0)
