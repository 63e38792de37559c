"""What TGen's log says about downloads, and what its action graphs asked for.

In: the standard output of TGen clients. Out: :class:`TgenLog`.

TGen reports a download once, at its end: ``[stream-success]`` or ``[stream-error]``, each with all its times
in µs from the moment before the socket was made, -1 for what never happened (tgen-stream.c,
tgen-transport.c). Fields are found by name, so that a later version may add some.
:mod:`torsweep.engines.shadow.read.streams` finds downloads that leave no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

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

_VERTEX = {"vertex": r'^<node id="([^"]*)"', "server": r'<data key="peers">([^:<]*):\d+</data>'}
_VERTEX_NUMBERS = {
    "pause_us": r'<data key="time">(\d+) microseconds</data>',
    "bytes_wanted": r'<data key="recvsize">(\d+) bytes</data>',
}
_EDGE = {"source": r'^<edge source="([^"]*)" ', "target": r' target="([^"]*)"'}


@dataclass(frozen=True)
class Steps:
    """The steps of all clients; ``log`` is the index of the client. ``first`` (log, pause_us, vertex): the
    downloads that a client begins with, and how long after TGen. ``following`` (log, vertex, pause_us, next):
    what comes after the download at ``vertex``, and how long after. ``downloads`` (log, vertex, server,
    bytes_wanted)."""

    first: pl.DataFrame
    following: pl.DataFrame
    downloads: pl.DataFrame


def read_graphs(graphs: Sequence[Log]) -> Steps:
    """The steps in ``graphs``, one a client; InputError when one has no download to begin with."""
    graph = parse_logs(graphs, _parse_steps)
    vertices, edges = graph.vertices, graph.edges
    pauses = vertices.select("log", "vertex", "pause_us").drop_nulls()
    paused = edges.join(
        pauses.rename({"vertex": "target"}), on=["log", "target"], how="left", maintain_order="left"
    )
    after_pause = edges.select("log", target="source", after="target").join(
        pauses.select("log", target="vertex"), on=["log", "target"], how="semi"
    )
    following = (
        paused.join(pauses.select("log", source="vertex"), on=["log", "source"], how="anti")
        .join(after_pause, on=["log", "target"], how="left", maintain_order="left")
        .select(
            "log",
            vertex="source",
            pause_us=pl.col("pause_us").fill_null(0),
            next=pl.when(pl.col("pause_us").is_null()).then("target").otherwise("after"),
        )
    )
    is_first = pl.col("vertex") == "start"
    first = following.filter(is_first).select("log", "pause_us", vertex="next")
    empty = sorted(set(range(len(graphs))) - set(first["log"]))
    if empty:
        raise graphs[empty[0]].error("is no graph of a client: nothing follows its start")
    usual = vertices.filter(pl.col("vertex") == "start").select("log", usual_bytes="bytes_wanted")
    downloads = (
        vertices.filter(pl.col("server").is_not_null())
        .join(usual, on="log", how="left", maintain_order="left")
        .select("log", "vertex", "server", bytes_wanted=pl.coalesce("bytes_wanted", "usual_bytes"))
    )
    return Steps(first, following.filter(~is_first), downloads)


@dataclass(frozen=True)
class _StepsFound:
    vertices: pl.DataFrame
    edges: pl.DataFrame


def _parse_steps(lines: pl.DataFrame) -> _StepsFound:
    vertices = lines.filter(TEXT.str.starts_with("<node "))
    edges = lines.filter(TEXT.str.starts_with("<edge "))
    return _StepsFound(
        vertices.select("log", *words(_VERTEX), *numbers(_VERTEX_NUMBERS)),
        edges.select("log", *words(_EDGE)),
    )


OLDEST_TGEN = (1, 1, 2)
"""The first version whose reports have the fields read here, counted from the socket's creation."""

_TGEN_LINE = TIME + r"\[\w+\] \[[\w.-]+:\d+\] \[\w+\] "
_REPORT_NUMBERS = {
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
_REPORT_WORDS = {
    "report": r"\] \[stream-(success|error)\] ",
    "port": r",local=[^,\]]*:(\d+),",
    "remote": r",remote=([^,\]]*),",
    "transport_state": r",state=([A-Z_0-9]+)[,\]]",
    # The transport comes first in a line.
    "transport_error": r",error=([A-Z_]+)[,\]]",
    "vertex": r",vertexid=([^,\]]*),",
    "stream_error": r",recvstate=[A-Z_]+,error=([A-Z_]+)[,\]]",
}
_REPORT_TIMES = ("socks_reply_us", "command_us", "first_byte_us", "last_byte_us")
_STATUS_NUMBERS = {"id": _REPORT_NUMBERS["id"], "bytes_got": _REPORT_NUMBERS["bytes_got"]}


@dataclass(frozen=True)
class TgenLog:
    """The content of all clients' logs; ``log`` is the index of the log, times are µs since 1970.
    ``downloads``: a row for each finished one. ``begun`` (log, time_us): when the client opened its first
    one. ``growth`` (log, id, time_us, bytes_got): a row each time a download grew, at log level info only.
    ``versions`` (log, line, version)."""

    downloads: pl.DataFrame
    begun: pl.DataFrame
    growth: pl.DataFrame
    versions: pl.DataFrame
    lines: int
    unknown_lines: int
    warnings: int


def read_tgen(logs: Sequence[Log]) -> TgenLog:
    """Read the logs of TGen clients; InputError, with file and line, for a version that is too old, a report
    without one of its fields, and a log that is cut off."""
    log = parse_logs(logs, lambda lines: _parse(logs, lines))
    check_versions(logs, log.versions, "TGen", OLDEST_TGEN)
    return log


def _parse(logs: Sequence[Log], lines: pl.DataFrame) -> TgenLog:
    about_streams = TEXT.str.contains("] [stream-", literal=True)
    # Heartbeats are nearly all lines of a log that has them, and a single word is the cheapest way to
    # recognise them.
    beat = TEXT.str.contains("] [driver-heartbeat] ", literal=True)
    streams = lines.filter(about_streams)
    others = lines.filter(~about_streams & ~beat)
    growing = TEXT.str.contains("] [stream-status] ", literal=True)
    started = others.filter(TEXT.str.contains("] starting client using action graph", literal=True))
    version = words({"version": r"Initializing TGen v(\S+) "})
    known = others.select(TEXT.str.contains(_TGEN_LINE).alias("known"))["known"]
    return TgenLog(
        downloads=_downloads(logs, streams.filter(~growing)),
        begun=started.select("log", time_us()),
        growth=streams.filter(growing).select("log", *numbers(_STATUS_NUMBERS), time_us()).drop_nulls(),
        versions=others.select("log", "line", *version).drop_nulls(),
        lines=lines.height,
        unknown_lines=others.height - int(known.sum()),
        warnings=others.filter(TEXT.str.contains(r"^\S+ \S+ \S+ \[(warning|critical|error)\] ")).height,
    )


def _downloads(logs: Sequence[Log], reports: pl.DataFrame) -> pl.DataFrame:
    fields = reports.with_columns(*words(_REPORT_WORDS), *numbers(_REPORT_NUMBERS))
    needed = (*_REPORT_WORDS, *_REPORT_NUMBERS)
    check_fields(logs, fields, needed, "report of a download", "a line as TGen 1.1.2 writes it")
    return fields.drop("text").with_columns(
        pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in _REPORT_TIMES
    )
