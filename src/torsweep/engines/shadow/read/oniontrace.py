"""What OnionTrace logs of tor: bandwidth of relays, circuits and streams of clients.

In: the standard output of OnionTrace in mode ``log``. Out: :class:`Events`, a frame for each kind of event
(Tor's control-spec, section 4.1), and the rows of ``relays.parquet``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.config.features import CIRCUIT_KEYWORDS
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
from torsweep.engines.shadow.read.traces import Clock
from torsweep.engines.table_schema import RELAYS

HALF_SECOND_US = 500_000


def telling_logs(events: Events) -> list[int]:
    """The numbers of the logs that have a BW event, in order."""
    return sorted(events.bandwidth["log"].unique().to_list())


def relay_rows(
    events: Events, logs: Sequence[Log], clock: Clock, earlier_us: int = HALF_SECOND_US
) -> pl.DataFrame:
    """A row for each second and each relay of ``logs`` that told anything, by second, then as in ``logs``.

    OnionTrace listens once a tor has built a circuit of its own, which a relay of a single path never does:
    nothing is known about such a relay, so it has no rows. tor tells of the second before, at any phase of a
    second: an event counts for the whole second in which the middle of its span lies. Seconds without an
    event, which tor leaves out when it is late, are 0. ``earlier_us`` is how long before an event that is.
    """
    seconds = (clock.end_us - clock.start_us) // 1_000_000
    with_events = telling_logs(events)
    relays = {"log": with_events, "relay": [logs[number].host for number in with_events]}
    grid = pl.DataFrame({"second": pl.int_range(seconds, dtype=pl.Int32, eager=True)}).join(
        pl.DataFrame(relays, schema={"log": pl.Int64, "relay": pl.String}), how="cross"
    )
    second = (clock.since_start("time_us") - earlier_us).floordiv(1_000_000)
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
"""The events that OnionTrace asks the tor of a client for.

It may register for events only when tor has a circuit, and that circuit is the one that a client then uses
first. OnionTrace passes the list on to tor, with blanks for commas, so the list can end with a question:
which circuits exist already? The answer is logged like an event.
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
    """Read the logs of OnionTrace.

    Raises InputError, naming file and line, for a version that is too old, an event of a known kind
    without one of its fields, and a log that is cut off.
    """
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

    return Events(
        bandwidth=events("BW", {}, _BW, list(_BW)),
        circuits=pl.concat(
            [
                listed,
                events("CIRC", _CIRC, _CIRC_ID, ["circuit", "status"]),
                events("CIRC_MINOR", _CIRC, _CIRC_ID, ["circuit", "status"]),
            ],
            how="diagonal",
        ),
        circuit_bytes=events("CIRC_BW", {}, _CIRC_BW, list(_CIRC_BW)),
        streams=events("STREAM", _STREAM, _STREAM_IDS, ["tor_stream", "circuit", "status"]),
        stream_bytes=events("STREAM_BW", {}, _STREAM_BW, list(_STREAM_BW)),
        versions=others.select(
            "log", "line", *words({"version": r" Starting OnionTrace v(\S+) "})
        ).drop_nulls(),
        lines=lines.height,
        unknown_lines=strange + shapeless,
    )
