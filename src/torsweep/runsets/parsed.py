"""What is left of logs in tgentools' and oniontracetools' JSON files.

In: ``tgen.analysis.json`` and ``oniontrace.analysis.json``, plain or xz. Out: what the readers of logs give,
as far as the files tell it. tornettools parses only the downloads of perf clients. The files tell only when
circuits were built or failed, to the second: they are numbered from 1 here, and the reason of a failure is
known only where all failures of a client have the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import AliasPath, BaseModel, Field

from torsweep.config.reading import validate
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.oniontrace import Events, read_oniontrace
from torsweep.engines.shadow.read.tgen import TgenLog
from torsweep.engines.shadow.read.tornettools import (
    CLIENT_HOSTS,
    NO_BEATS,
    NONE_UNFINISHED,
    RELAY_HOSTS,
    HostLogs,
    in_order,
)
from torsweep.errors import InputError
from torsweep.formats.files import parse_json, whole_text

_SECOND_US = 1_000_000

_NO_EVENTS = read_oniontrace([])
"""Frames without rows."""

_GROWTH = {name: pl.Int64 for name in ("log", "id", "bytes_got", "time_us")}
_TIMES = ("socks_reply_us", "command_us", "first_byte_us", "last_byte_us")

_VERSION = "1."
"""How the versions begin whose files are read here."""


_Share = Annotated[float, Field(ge=0, le=1)]
_Second = Annotated[int, Field(ge=0, le=2**33)]
_Seconds = Annotated[float, Field(ge=0, le=1e9)]
_Count = Annotated[int, Field(ge=-1, le=2**62)]
"""Bytes or microseconds; -1: never."""


def _at(*path: str) -> Any:
    return Field(validation_alias=AliasPath(*path))


class _Stream(BaseModel):
    """A download; steps in µs from the start, ``created`` and ``now`` in µs since 1970; -1: never."""

    is_error: bool
    got: _Count = _at("byte_info", "payload-bytes-recv")
    id: _Count = _at("stream_info", "id")
    vertex: str = _at("stream_info", "vertexid")
    wanted: _Count = _at("stream_info", "recvsize")
    error: str = _at("stream_info", "error")
    local: str = _at("transport_info", "local")
    remote: str = _at("transport_info", "remote")
    transport_state: str = _at("transport_info", "state")
    transport_error: str = _at("transport_info", "error")
    created: _Count = _at("time_info", "created-ts")
    socks_reply: _Count = _at("time_info", "usecs-to-proxy-response")
    command: _Count = _at("time_info", "usecs-to-command")
    first_byte: _Count = _at("time_info", "usecs-to-first-byte-recv")
    last_byte: _Count = _at("time_info", "usecs-to-last-byte-recv")
    now: _Count = _at("time_info", "now-ts")
    progress: dict[_Share, _Seconds] = Field(
        {}, validation_alias=AliasPath("elapsed_seconds", "payload_progress_recv")
    )

    def row(self, log: int) -> dict[str, Any]:
        """The download as a row of :class:`TgenLog`."""
        steps = (self.socks_reply, self.command, self.first_byte, self.last_byte)
        return {
            "log": log,
            "line": 0,
            "report": "error" if self.is_error else "success",
            "port": self.local.rpartition(":")[2],
            "remote": self.remote,
            "transport_state": self.transport_state,
            "transport_error": self.transport_error,
            "vertex": self.vertex,
            "stream_error": self.error,
            "id": self.id,
            "bytes_wanted": self.wanted,
            "bytes_got": self.got,
            "created_us": self.created,
            **{name: us if us >= 0 else None for name, us in zip(_TIMES, steps, strict=True)},
            "ended_us": self.now,
        }

    def growth(self, log: int) -> Iterator[dict[str, Any]]:
        """When each tenth of the payload was there, as rows of :class:`TgenLog`."""
        for share, seconds in self.progress.items():
            time_us = self.created + round(seconds * 1e6)
            got = round(float(share) * self.wanted)
            yield {"log": log, "id": self.id, "bytes_got": got, "time_us": time_us}


class _TgenHost(BaseModel):
    streams: dict[str, _Stream] = _at("tgen", "streams")


class _Bandwidth(BaseModel):
    """Bytes by the second since 1970."""

    bytes_read: dict[_Second, _Count]
    bytes_written: dict[_Second, _Count]


class _OnionTraceHost(BaseModel):
    """Seconds that circuits took, by the second since 1970 in which they were built or failed; how many
    failed, by reason (of oniontracetools before 2022, in all)."""

    build_time: dict[_Second, list[_Seconds]] = Field(
        {}, validation_alias=AliasPath("oniontrace", "circuit", "build_time")
    )
    fail_time: dict[_Second, list[_Seconds]] = Field(
        {}, validation_alias=AliasPath("oniontrace", "circuit", "fail_time")
    )
    failed: dict[str, int] | int = Field(
        0, validation_alias=AliasPath("oniontrace", "circuit_summary", "circuits_failed_total")
    )
    bandwidth: _Bandwidth | None = Field(None, validation_alias=AliasPath("oniontrace", "bandwidth"))


class _Tgen(BaseModel):
    version: str
    data: dict[str, _TgenHost]


class _OnionTrace(BaseModel):
    version: str
    data: dict[str, _OnionTraceHost]


def _document(file: Path, program: str) -> dict[str, Any]:
    document = parse_json(whole_text(file), file)
    named, version = document.get("type"), str(document.get("version"))
    if named != program:
        raise InputError(f"is not of {program}tools", file=file, key="type", value=named, accepted=program)
    if not version.startswith(_VERSION):
        raise InputError(
            "is of another version", file=file, key="version", value=version, accepted=f"{_VERSION}x"
        )
    return document


def read_parsed(tgen_file: Path, oniontrace_file: Path | None) -> HostLogs:
    """The content of the two files; InputError if one of them is another kind of file."""
    tgen = validate(_Tgen, _document(tgen_file, "tgen"), tgen_file)
    traced = _OnionTrace(version="", data={})
    if oniontrace_file is not None:
        traced = validate(_OnionTrace, _document(oniontrace_file, "oniontrace"), oniontrace_file)
    clients = sorted({*tgen.data, *filter(CLIENT_HOSTS.fullmatch, traced.data)}, key=in_order)
    relays = sorted(filter(RELAY_HOSTS.fullmatch, traced.data), key=in_order)
    return HostLogs(
        clients,
        _tgen_log(tgen, clients, tgen_file),
        NONE_UNFINISHED,
        NO_BEATS,
        _events(traced, clients),
        [Log(relay, oniontrace_file or tgen_file) for relay in relays],
        _events(traced, relays),
    )


def _tgen_log(parsed: _Tgen, clients: Sequence[str], file: Path) -> TgenLog:
    streams = [
        (log, stream)
        for log, client in enumerate(clients)
        if client in parsed.data
        for stream in parsed.data[client].streams.values()
    ]
    if not streams:
        raise InputError("holds no download", file=file, accepted="what `tgentools parse --complete` writes")
    rows = pl.DataFrame([stream.row(log) for log, stream in streams], infer_schema_length=None)
    growth = pl.DataFrame([row for log, stream in streams for row in stream.growth(log)], _GROWTH)
    nothing = pl.DataFrame(schema={"log": pl.Int64, "time_us": pl.Int64})
    versions = pl.DataFrame({"version": [parsed.version]})
    times = [pl.col(name).cast(pl.Int64) for name in _TIMES]
    return TgenLog(rows.with_columns(times), nothing, growth, versions, 0, 0, 0)


def _events(parsed: _OnionTrace, names: Sequence[str]) -> Events:
    """The circuits and bytes of the hosts ``names``, which ``log`` counts."""
    hosts = [(log, parsed.data[name]) for log, name in enumerate(names) if name in parsed.data]
    bandwidth = [row for log, host in hosts if host.bandwidth for row in _bytes(log, host.bandwidth)]
    circuits = [row for log, host in hosts for row in _circuits(log, host)]
    return replace(
        _NO_EVENTS,
        bandwidth=pl.DataFrame(bandwidth, _NO_EVENTS.bandwidth.schema),
        circuits=pl.DataFrame(circuits, _NO_EVENTS.circuits.schema),
        versions=pl.DataFrame(
            {"version": [parsed.version] if parsed.version else []}, {"version": pl.String}
        ),
    )


def _bytes(log: int, bandwidth: _Bandwidth) -> Iterator[dict[str, int]]:
    for second, read in bandwidth.bytes_read.items():
        written = bandwidth.bytes_written.get(second, 0)
        yield {"log": log, "time_us": second * _SECOND_US, "bytes_in": read, "bytes_out": written}


def _circuits(log: int, host: _OnionTraceHost) -> Iterator[dict[str, Any]]:
    """Two events of each circuit: that it was launched, and how that ended."""
    reason = next(iter(host.failed)) if isinstance(host.failed, dict) and len(host.failed) == 1 else None
    ends = [("BUILT", host.build_time, None), ("FAILED", host.fail_time, reason)]
    took = (
        (status, why, second, seconds)
        for status, by_second, why in ends
        for second, all_seconds in by_second.items()
        for seconds in all_seconds
    )
    for number, (status, why, second, seconds) in enumerate(took, start=1):
        ended_us = second * _SECOND_US
        common = {"log": log, "circuit": number}
        yield {**common, "status": "LAUNCHED", "time_us": ended_us - round(seconds * _SECOND_US)}
        yield {**common, "status": status, "time_us": ended_us, "reason": why}
