"""What the public Tor network gives its users, as OnionPerf measures it.

In: an analysis file of OnionPerf (versions 2 to 4), or a ``tor_metrics_….json``, which tornettools parses
from many of them; plain, gzip or xz. Out: a frame with a row for each measured value, in the columns of
:data:`COLUMNS`.

What a value means, and when a download counts as failed, is as tornettools has it in ``parse_onionperf.py``:
times count from the request on; the time to 50 KiB is that of the first 50 KiB of any download, so that the
5 MiB downloads of today's OnionPerf tell of all three sizes; onion services are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import polars as pl
from pydantic import BaseModel, Field, ValidationError

from torsweep.errors import InputError
from torsweep.formats.json_file import parse_json
from torsweep.formats.text import whole_text

MEASURES: Mapping[str, str] = {
    "ttfb_after_command": "request to the first payload byte, s; of OnionPerf's files only",
    "ttlb_after_command": "request to the last byte of the kind's size, s",
    "circuit_build_time": "from a circuit's launch until it was open, s",
    "round_trip": "request to the first byte of the server's answer, s",
    "goodput": "bytes/s: from 500 KiB to 1 MiB of a download, and from 4 to 5 MiB",
    "error_share": "share of downloads that failed or took too long for a perf client; one per day or file",
    "relay_goodput": "bytes/s that all relays together passed on; one value per day; tor_metrics files only",
}

COLUMNS: Mapping[str, str] = {
    "measure": "what was measured: a key of MEASURES",
    "kind": "the perf client that measures the same: perf_50kib, perf_1mib or perf_5mib; null: of no size",
    "value": "seconds, bytes per second, or a share",
}

SCHEMA = pl.Schema({"measure": pl.String, "kind": pl.String, "value": pl.Float64})

VERSIONS = ("2", "3", "4")
"""Versions of OnionPerf's analysis files, before the point."""

KIND_OF: Mapping[int, str] = {51_200: "perf_50kib", 1_048_576: "perf_1mib", 5_242_880: "perf_5mib"}
PATIENCE_S: Mapping[int, float] = {51_200: 15.0, 1_048_576: 60.0, 5_242_880: 120.0}
"""How long a perf client waits for so many bytes."""

_GOODPUT_FROM: Mapping[str, int] = {"perf_1mib": 500 * 2**10, "perf_5mib": 4 * 2**20}
"""From which byte on goodput counts; it counts to the last byte of the size."""

_ACCEPTED = "an analysis file of OnionPerf, or a tor_metrics file of tornettools"
_BITS = 8
_Kind = TypeVar("_Kind", bound=BaseModel)
_Row = tuple[str, str | None, float]
_Seconds = Annotated[float, Field(ge=0)]
_Rate = _Seconds


def read_public_tor(file: Path) -> pl.DataFrame:
    """The values in ``file``, in the columns of :data:`COLUMNS`.

    Raises InputError when it is neither kind of file, is of another version, or has no values in it.
    """
    document = parse_json(whole_text(file), file)
    if document.get("type") == "onionperf":
        version = str(document.get("version"))
        if version.partition(".")[0] not in VERSIONS:
            accepted = ", ".join(VERSIONS)
            raise InputError(
                "is of another version", file=file, key="version", value=version, accepted=accepted
            )
        rows = list(_of_sources(_validated(_Analysis, document, file)))
    elif "download_times" in document and "daily_counts" in document:
        rows = list(_of_tor_metrics(_validated(_TorMetrics, document, file)))
    else:
        raise InputError("is no measurement of the public network", file=file, accepted=_ACCEPTED)
    if not rows:
        raise InputError("holds no measured value", file=file, accepted=_ACCEPTED)
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _validated(kind: type[_Kind], document: Mapping[str, Any], file: Path) -> _Kind:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        value = None if first["type"] == "missing" else first["input"]
        raise InputError(first["msg"].lower(), file=file, key=key, value=value) from None


class _Day(BaseModel):
    requests: Annotated[int, Field(ge=0)]
    timeouts: Annotated[int, Field(ge=0)]
    failures: Annotated[int, Field(ge=0)]


class _TorMetrics(BaseModel):
    """Seconds, bits per second, and for relays Gbit/s by day."""

    download_times: dict[str, list[_Seconds]]
    daily_counts: dict[str, _Day]
    circuit_rtt: list[_Seconds] = []
    circuit_build_times: list[_Seconds] = []
    client_goodput: list[_Rate] = []
    client_goodput_5MiB: list[_Rate] = []  # noqa: N815
    relay_goodput: dict[str, _Rate] = {}


def _of_tor_metrics(found: _TorMetrics) -> Iterator[_Row]:
    for size, kind in KIND_OF.items():
        for seconds in found.download_times.get(str(size), []):
            yield "ttlb_after_command", kind, seconds
    for seconds in found.circuit_build_times:
        yield "circuit_build_time", None, seconds
    for seconds in found.circuit_rtt:
        yield "round_trip", None, seconds
    for bits in found.client_goodput:
        yield "goodput", "perf_1mib", bits / _BITS
    for bits in found.client_goodput_5MiB:
        yield "goodput", "perf_5mib", bits / _BITS
    for day in found.daily_counts.values():
        if day.requests:
            yield "error_share", None, (day.timeouts + day.failures) / day.requests
    for gigabits in found.relay_goodput.values():
        yield "relay_goodput", None, gigabits * 1e9 / _BITS


class _Bytes(BaseModel):
    got: int = Field(alias="payload-bytes-recv")


class _Asked(BaseModel):
    wanted: Annotated[int, Field(alias="recvsize", gt=0)]


class _Remote(BaseModel):
    remote: str = ""


class _Times(BaseModel):
    """Microseconds since the stream was created; -1: never."""

    command: Annotated[int, Field(alias="usecs-to-command")]
    response: Annotated[int, Field(alias="usecs-to-response")]
    first_byte: Annotated[int, Field(alias="usecs-to-first-byte-recv")]
    last_byte: Annotated[int, Field(alias="usecs-to-last-byte-recv")]


class _Elapsed(BaseModel):
    payload_bytes_recv: dict[str, _Seconds] = {}
    payload_progress_recv: dict[str, _Seconds] = {}


class _Stream(BaseModel):
    """A download of TGen 1, in versions 3 and 4."""

    is_error: bool
    byte_info: _Bytes
    stream_info: _Asked
    transport_info: _Remote
    time_info: _Times
    elapsed_seconds: _Elapsed = _Elapsed()

    def download(self) -> _Download:
        times, elapsed = self.time_info, self.elapsed_seconds
        steps = {name: us / 1e6 for name, us in times.model_dump().items() if us > 0}
        reached = elapsed.payload_bytes_recv, elapsed.payload_progress_recv
        wanted, remote = self.stream_info.wanted, self.transport_info.remote
        failed = self.is_error or self.byte_info.got < wanted
        return _Download(wanted, failed, ".onion" in remote, steps, *reached)


class _Steps(BaseModel):
    """Seconds since the transfer was created; 0 or missing: never."""

    command: _Seconds = 0.0
    response: _Seconds = 0.0
    first_byte: _Seconds = 0.0
    last_byte: _Seconds = 0.0
    payload_bytes: dict[str, _Seconds] = {}
    payload_progress: dict[str, _Seconds] = {}


class _Transfer(BaseModel):
    """A download of TGen 0, in version 2."""

    is_error: bool
    filesize_bytes: Annotated[int, Field(gt=0)]
    payload_bytes_status: int
    endpoint_remote: str = ""
    elapsed_seconds: _Steps

    def download(self) -> _Download:
        found = self.elapsed_seconds
        steps = {name: value for name, value in found if isinstance(value, float) and value > 0}
        failed = self.is_error or self.payload_bytes_status < self.filesize_bytes
        onion = ".onion" in self.endpoint_remote
        return _Download(
            self.filesize_bytes, failed, onion, steps, found.payload_bytes, found.payload_progress
        )


class _Circuit(BaseModel):
    buildtime_seconds: _Seconds | None = None
    filtered_out: bool = False


class _TGen(BaseModel):
    streams: dict[str, _Stream] = {}
    transfers: dict[str, _Transfer] = {}


class _Tor(BaseModel):
    circuits: dict[str, _Circuit] = {}


class _Source(BaseModel):
    tgen: _TGen = _TGen()
    tor: _Tor = _Tor()


class _Analysis(BaseModel):
    data: dict[str, _Source]


@dataclass(frozen=True)
class _Download:
    """A download of either TGen; ``steps`` has the steps that it reached, in seconds from its start, and so
    have ``at_bytes`` and ``at_share`` the times of bytes and of shares of the payload."""

    wanted: int
    failed: bool
    onion: bool
    steps: Mapping[str, float]
    at_bytes: Mapping[str, float]
    at_share: Mapping[str, float]

    @property
    def complete(self) -> bool:
        """Whether it came whole, and in the time that a perf client waits for one of its size."""
        if self.failed or not {"command", "last_byte"} <= self.steps.keys():
            return False
        took_s = self.steps["last_byte"] - self.steps["command"]
        return took_s <= PATIENCE_S.get(self.wanted, took_s)

    def reached(self, byte: int) -> float | None:
        """Seconds from the start to ``byte`` of the payload, where the file tells."""
        if byte == self.wanted:
            return self.at_bytes.get(str(byte), self.steps["last_byte"])
        return self.at_bytes.get(str(byte), self.at_share.get(str(byte / self.wanted)))


def _of_sources(analysis: _Analysis) -> Iterator[_Row]:
    downloads, complete = 0, 0
    for source in analysis.data.values():
        for circuit in source.tor.circuits.values():
            if circuit.buildtime_seconds is not None and not circuit.filtered_out:
                yield "circuit_build_time", None, circuit.buildtime_seconds
        found: list[_Stream | _Transfer] = [*source.tgen.streams.values(), *source.tgen.transfers.values()]
        for download in (each.download() for each in found):
            if not download.onion:
                downloads, complete = downloads + 1, complete + download.complete
                yield from _of_download(download) if download.complete else ()
    if downloads:
        yield "error_share", None, 1 - complete / downloads


def _of_download(found: _Download) -> Iterator[_Row]:
    asked_s = found.steps["command"]
    for step, measure in (("response", "round_trip"), ("first_byte", "ttfb_after_command")):
        if step in found.steps:
            yield measure, None, found.steps[step] - asked_s
    for size, kind in KIND_OF.items():
        came_s = found.reached(size) if size <= found.wanted else None
        if came_s is None:
            continue
        yield "ttlb_after_command", kind, came_s - asked_s
        since = _GOODPUT_FROM.get(kind)
        since_s = found.reached(since) if since else None
        if since is not None and since_s is not None and since_s < came_s:
            yield "goodput", kind, (size - since) / (came_s - since_s)
