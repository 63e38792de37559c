"""What the public Tor network gives its users, as OnionPerf measures it.

In: an analysis file of OnionPerf (versions 2 to 4), or a ``tor_metrics_….json``, which tornettools parses
from many of them; plain, gzip or xz. Out: a frame with a row for each measured value, in the columns of
:data:`SCHEMA`.

What a value means, and when a download counts as failed, is as tornettools has it in ``parse_onionperf.py``:
times count from the request on; the time to 50 KiB is that of the first 50 KiB of any download, so that the
5 MiB downloads of today's OnionPerf tell of all three sizes; onion services are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import AliasPath, BaseModel, Field

from torsweep.config.reading import validate
from torsweep.config.traffic import PERF_TRAFFIC
from torsweep.errors import InputError
from torsweep.formats.json_file import parse_json
from torsweep.formats.text import whole_text

PUBLIC_MEASURES: Mapping[str, str] = {
    "ttfb_after_command": "request to the first payload byte, s; of OnionPerf's files only",
    "ttlb_after_command": "request to the last byte of the kind's size, s",
    "circuit_build_time": "from a circuit's launch until it was open, s",
    "round_trip": "request to the first byte of the server's answer, s",
    "goodput": "bytes/s: from 500 KiB to 1 MiB of a download, and from 4 to 5 MiB",
    "error_share": "share of downloads that failed or took too long for a perf client; one per day or file",
    "relay_goodput": "bytes/s that all relays together passed on; one value per day; tor_metrics files only",
}

USUAL_PUBLIC_TOR = Path("topologies/validation/onionperf-2019.json")
"""What stands beside perf clients where the user gives no file: see topologies/SOURCES.md."""

SCHEMA = pl.Schema({"measure": pl.String, "kind": pl.String, "value": pl.Float64})
"""A key of :data:`PUBLIC_MEASURES`; the perf client that measures the same (null: of no size); seconds, bytes
per second, or a share."""

VERSIONS = ("2", "3", "4")
"""Versions of OnionPerf's analysis files, before the point."""

KIND_OF: Mapping[int, str] = {does.mean_response: kind for kind, does in PERF_TRAFFIC.items()}
_PATIENCE_S: Mapping[int, float] = {
    does.mean_response: (does.timeout or 0) / 1e9 for does in PERF_TRAFFIC.values()
}
"""How long a perf client waits for so many bytes."""

_GOODPUT_FROM: Mapping[str, int] = {"perf_1mib": 500 * 2**10, "perf_5mib": 4 * 2**20}
"""From which byte on goodput counts; it counts to the last byte of the size."""

_MEASUREMENTS = "an analysis file of OnionPerf, or a tor_metrics file of tornettools"
_BITS = 8
_Row = tuple[str, str | None, float]
_Seconds = Annotated[float, Field(ge=0)]
_Rate = _Seconds


def read_public_tor(file: Path) -> pl.DataFrame:
    """The values in ``file``, in the columns of :data:`SCHEMA`.

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
        rows = list(_of_hosts(validate(_Analysis, document, file)))
    elif "download_times" in document and "daily_counts" in document:
        rows = list(_of_tor_metrics(validate(_TorMetrics, document, file)))
    else:
        raise InputError("is no measurement of the public network", file=file, accepted=_MEASUREMENTS)
    if not rows:
        raise InputError("holds no measured value", file=file, accepted=_MEASUREMENTS)
    return pl.DataFrame(rows, SCHEMA, orient="row")


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


def _of_tor_metrics(metrics: _TorMetrics) -> Iterator[_Row]:
    for size, kind in KIND_OF.items():
        for seconds in metrics.download_times.get(str(size), []):
            yield "ttlb_after_command", kind, seconds
    for seconds in metrics.circuit_build_times:
        yield "circuit_build_time", None, seconds
    for seconds in metrics.circuit_rtt:
        yield "round_trip", None, seconds
    for bits in metrics.client_goodput:
        yield "goodput", "perf_1mib", bits / _BITS
    for bits in metrics.client_goodput_5MiB:
        yield "goodput", "perf_5mib", bits / _BITS
    for day in metrics.daily_counts.values():
        if day.requests:
            yield "error_share", None, (day.timeouts + day.failures) / day.requests
    for gigabits in metrics.relay_goodput.values():
        yield "relay_goodput", None, gigabits * 1e9 / _BITS


class _OnionPerfStream(BaseModel):
    """A download of TGen 1, in versions 3 and 4; times are µs since the stream was created, -1: never."""

    is_error: bool
    bytes_wanted: Annotated[int, Field(gt=0, validation_alias=AliasPath("stream_info", "recvsize"))]
    bytes_got: int = Field(validation_alias=AliasPath("byte_info", "payload-bytes-recv"))
    remote: str = Field("", validation_alias=AliasPath("transport_info", "remote"))
    command: int = Field(validation_alias=AliasPath("time_info", "usecs-to-command"))
    response: int = Field(validation_alias=AliasPath("time_info", "usecs-to-response"))
    first_byte: int = Field(validation_alias=AliasPath("time_info", "usecs-to-first-byte-recv"))
    last_byte: int = Field(validation_alias=AliasPath("time_info", "usecs-to-last-byte-recv"))
    at_bytes: dict[str, _Seconds] = Field(
        {}, validation_alias=AliasPath("elapsed_seconds", "payload_bytes_recv")
    )
    at_share: dict[str, _Seconds] = Field(
        {}, validation_alias=AliasPath("elapsed_seconds", "payload_progress_recv")
    )

    def download(self) -> _Download:
        steps = {name: getattr(self, name) / 1e6 for name in _DOWNLOAD_STEPS if getattr(self, name) > 0}
        failed = self.is_error or self.bytes_got < self.bytes_wanted
        onion = ".onion" in self.remote
        return _Download(self.bytes_wanted, failed, onion, steps, self.at_bytes, self.at_share)


_DOWNLOAD_STEPS = ("command", "response", "first_byte", "last_byte")


class _TransferTimes(BaseModel):
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
    elapsed_seconds: _TransferTimes

    def download(self) -> _Download:
        elapsed = self.elapsed_seconds
        steps = {name: getattr(elapsed, name) for name in _DOWNLOAD_STEPS if getattr(elapsed, name) > 0}
        failed = self.is_error or self.payload_bytes_status < self.filesize_bytes
        onion = ".onion" in self.endpoint_remote
        reached = elapsed.payload_bytes, elapsed.payload_progress
        return _Download(self.filesize_bytes, failed, onion, steps, *reached)


class _Circuit(BaseModel):
    buildtime_seconds: _Seconds | None = None
    filtered_out: bool = False


class _Vantage(BaseModel):
    """What one of OnionPerf's hosts measured."""

    streams: dict[str, _OnionPerfStream] = Field({}, validation_alias=AliasPath("tgen", "streams"))
    transfers: dict[str, _Transfer] = Field({}, validation_alias=AliasPath("tgen", "transfers"))
    circuits: dict[str, _Circuit] = Field({}, validation_alias=AliasPath("tor", "circuits"))


class _Analysis(BaseModel):
    data: dict[str, _Vantage]


@dataclass(frozen=True)
class _Download:
    """A download of either TGen; ``steps`` has the steps that it reached, in seconds from its start, and so
    have ``at_bytes`` and ``at_share`` the times of bytes and of shares of the payload."""

    size_bytes: int
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
        return took_s <= _PATIENCE_S.get(self.size_bytes, took_s)

    def reached(self, byte: int) -> float | None:
        """Seconds from the start to ``byte`` of the payload, where the file tells."""
        if byte == self.size_bytes:
            return self.at_bytes.get(str(byte), self.steps["last_byte"])
        return self.at_bytes.get(str(byte), self.at_share.get(str(byte / self.size_bytes)))


def _of_hosts(analysis: _Analysis) -> Iterator[_Row]:
    downloads, complete = 0, 0
    for host in analysis.data.values():
        for circuit in host.circuits.values():
            if circuit.buildtime_seconds is not None and not circuit.filtered_out:
                yield "circuit_build_time", None, circuit.buildtime_seconds
        transfers: list[_OnionPerfStream | _Transfer] = [*host.streams.values(), *host.transfers.values()]
        for download in (each.download() for each in transfers):
            if not download.onion:
                downloads, complete = downloads + 1, complete + download.complete
                yield from _of_download(download) if download.complete else ()
    if downloads:
        yield "error_share", None, 1 - complete / downloads


def _of_download(download: _Download) -> Iterator[_Row]:
    request_s = download.steps["command"]
    for step, measure in (("response", "round_trip"), ("first_byte", "ttfb_after_command")):
        if step in download.steps:
            yield measure, None, download.steps[step] - request_s
    for size, kind in KIND_OF.items():
        end_s = download.reached(size) if size <= download.size_bytes else None
        if end_s is None:
            continue
        yield "ttlb_after_command", kind, end_s - request_s
        since = _GOODPUT_FROM.get(kind)
        since_s = download.reached(since) if since else None
        if since is not None and since_s is not None and since_s < end_s:
            yield "goodput", kind, (size - since) / (end_s - since_s)
