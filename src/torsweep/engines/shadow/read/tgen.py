"""What TGen's log says about downloads.

In: lines of the standard output of TGen clients. Out: :class:`TgenLog`: a row for each download that TGen
reports, when each client began, and, at log level ``info``, how far each download was when.

TGen reports a download once, at its end: ``[stream-success]`` or ``[stream-error]``, each with all its times
in µs from the moment before the socket was made, -1 for what never happened (tgen-stream.c,
tgen-transport.c). Fields are found by name, so that a later version may add some. A download that is still
going on when the simulation stops leaves no line; :mod:`torsweep.engines.shadow.read.unfinished` finds those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.engines.shadow.read.line_fields import TEXT, TIME, numbers, time_us, words
from torsweep.engines.shadow.read.logs import Log, parse_logs
from torsweep.engines.shadow.read.versions import check_versions

OLDEST = (1, 1, 2)
"""The first version whose reports have the fields read here, counted from the socket's creation."""

_LINE = TIME + r"\[\w+\] \[[\w.-]+:\d+\] \[\w+\] "
_NUMBERS = {
    "id": r" stream \[id=(\d+),",
    "bytes_wanted": r",recvsize=(\d+)",
    "bytes_got": r",payload-bytes-recv=(\d+)",
    "created_us": r"\[created-ts=(\d+)",
    "socks_reply_us": r",usecs-to-proxy-response=(-?\d+)",
    "command_us": r",usecs-to-command=(-?\d+)",
    "first_byte_us": r",usecs-to-first-byte-recv=(-?\d+)",
    "last_byte_us": r",usecs-to-last-byte-recv=(-?\d+)",
    "ended_us": r",now-ts=(\d+)\]",
}
_WORDS = {
    "report": r"\] \[stream-(success|error)\] ",
    "port": r",local=[^,\]]*:(\d+),",
    "remote": r",remote=([^,\]]*),",
    "transport_state": r",state=([A-Z_0-9]+)[,\]]",
    # The transport comes first in a line.
    "transport_error": r",error=([A-Z_]+)[,\]]",
    "vertex": r",vertexid=([^,\]]*),",
    "stream_error": r",recvstate=[A-Z_]+,error=([A-Z_]+)[,\]]",
}
_TIMES = ("socks_reply_us", "command_us", "first_byte_us", "last_byte_us")
_GROWTH = {"id": _NUMBERS["id"], "bytes_got": _NUMBERS["bytes_got"]}


@dataclass(frozen=True)
class TgenLog:
    """What the logs of all clients hold. Column ``log`` is the index of the log; times are µs since 1970.

    ``downloads``: a row for each finished download. ``begun`` (log, time_us): when the client opened its
    first one. ``growth`` (log, id, time_us, bytes_got): a row each time a download grew, at log level info
    only.
    """

    downloads: pl.DataFrame
    begun: pl.DataFrame
    growth: pl.DataFrame
    versions: tuple[str, ...]
    lines: int
    unknown_lines: int
    warnings: int


def read_tgen(logs: Sequence[Log]) -> TgenLog:
    """Read the logs of TGen clients.

    Raises InputError, naming file and line, for a version that is too old, a report without one of its
    fields, a log that is cut off, and a log that lacks a report between two others.
    """
    found = parse_logs(logs, lambda lines: _parse(logs, lines))
    versions = check_versions(logs, found.versions, "TGen", OLDEST)
    _check_none_lost(logs, found.downloads)
    return TgenLog(
        downloads=found.downloads,
        begun=found.begun,
        growth=found.growth,
        versions=versions,
        lines=found.lines,
        unknown_lines=found.unknown_lines,
        warnings=found.warnings,
    )


@dataclass(frozen=True)
class _Found:
    downloads: pl.DataFrame
    begun: pl.DataFrame
    growth: pl.DataFrame
    versions: pl.DataFrame
    lines: int
    unknown_lines: int
    warnings: int


def _parse(logs: Sequence[Log], lines: pl.DataFrame) -> _Found:
    about_streams = TEXT.str.contains("] [stream-", literal=True)
    # Heartbeats are nearly all lines of a log that has them, and a single word is the cheapest way to
    # recognise them.
    beat = TEXT.str.contains("] [driver-heartbeat] ", literal=True)
    streams = lines.filter(about_streams)
    others = lines.filter(~about_streams & ~beat)
    growing = TEXT.str.contains("] [stream-status] ", literal=True)
    started = others.filter(TEXT.str.contains("] starting client using action graph", literal=True))
    version = words({"version": r"Initializing TGen v(\S+) "})
    known = others.select(TEXT.str.contains(_LINE).alias("known"))["known"]
    return _Found(
        downloads=_downloads(logs, streams.filter(~growing)),
        begun=started.select("log", time_us()),
        growth=streams.filter(growing).select("log", *numbers(_GROWTH), time_us()).drop_nulls(),
        versions=others.select("log", "line", *version).drop_nulls(),
        lines=lines.height,
        unknown_lines=others.height - int(known.sum()),
        warnings=others.filter(TEXT.str.contains(r"^\S+ \S+ \S+ \[(warning|critical|error)\] ")).height,
    )


def _downloads(logs: Sequence[Log], reports: pl.DataFrame) -> pl.DataFrame:
    fields = reports.with_columns(*words(_WORDS), *numbers(_NUMBERS))
    for name in (*_WORDS, *_NUMBERS):
        lacking = fields.filter(pl.col(name).is_null())
        if lacking.height:
            raise logs[lacking["log"][0]].error(
                f"is no report of a download that this version can read (no {name})",
                line=lacking["line"][0],
                value=lacking["text"][0][:60],
                accepted="a line as TGen 1.1.2 writes it",
            )
    return fields.drop("text").with_columns(
        pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in _TIMES
    )


def _check_none_lost(logs: Sequence[Log], downloads: pl.DataFrame) -> None:
    """TGen numbers its downloads from 0; only downloads that were still going on at the end may lack a
    report."""
    repeated = downloads.filter(pl.struct("log", "id").is_duplicated())
    if repeated.height:
        raise logs[repeated["log"][0]].error(
            f"reports download {repeated['id'][0]} a second time", line=repeated["line"][1]
        )
