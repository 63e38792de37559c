"""What the public Tor network gives its users, as OnionPerf measures it.

In: an analysis file of OnionPerf (versions 2 to 4), or a ``tor_metrics_….json``, which tornettools parses
from many of them; plain, gzip or xz. Out: a frame with a row for each measured value, in the columns of
:data:`SCHEMA`.

What a value means, and when a download counts as failed, is as tornettools has it in ``parse_onionperf.py``:
times count from the request on; the time to 50 KiB is that of the first 50 KiB of any download, so that the
5 MiB downloads of today's OnionPerf tell of all three sizes; onion services are left out. In a file that
``onionperf filter`` wrote, the downloads that ``onionperf visualize`` shows count: those over circuits that
were not filtered out.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import AliasPath, BaseModel, Field, model_validator

from torsweep.config.reading import RefusedValue, validate
from torsweep.config.traffic import MEASURING_TRAFFIC, ONION_SUFFIX
from torsweep.errors import InputError
from torsweep.formats.files import parse_json, whole_text

PUBLIC_MEASURES: Mapping[str, str] = {
    "ttfb_after_command": "request to the first payload byte, s; of OnionPerf's files only",
    "ttlb_after_command": "request to the last byte of the kind's size, s",
    "ttlb": "opening of the SOCKS connection to the last byte, s; of the file that ships only",
    "circuit_build_time": "from a circuit's launch until it was open, s",
    "round_trip": "request to the first byte of the server's answer, s",
    "goodput": "bytes/s: from 500 KiB to 1 MiB of a download, and from 4 to 5 MiB",
    "error_share": "share of downloads that failed or took too long for a perf client; one per day or file",
    "relay_goodput": "bytes/s that all relays together passed on; one value per day; tor_metrics files only",
}

USUAL_PUBLIC_TOR = Path("topologies/validation/onionperf-2019.json")
"""What is beside perf clients where the user gives no file: see topologies/SOURCES.md."""

SCHEMA = pl.Schema({"measure": pl.String, "kind": pl.String, "value": pl.Float64})
"""A key of :data:`PUBLIC_MEASURES`, its perf client (null: any size), and seconds, bytes/s or a share."""

VERSIONS = ("2", "3", "4")
"""Versions of OnionPerf's analysis files, before the point."""

KIND_OF: Mapping[int, str] = {does.mean_response: kind for kind, does in MEASURING_TRAFFIC.items()}
_PATIENCE_S: Mapping[int, float] = {
    does.mean_response: (does.timeout or 0) / 1e9 for does in MEASURING_TRAFFIC.values()
}
"""How long a perf client waits for so many bytes."""

_GOODPUT_FROM: Mapping[str, int] = {"perf_1mib": 500 * 2**10, "perf_5mib": 4 * 2**20}
"""The byte from which goodput counts, to the last byte of the size."""

_SAME_STREAM_S = 150.0
"""How far apart TGen and tor may see the end of a stream: as OnionPerf's ``visualization.py`` has it."""

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

    @model_validator(mode="after")
    def _are_of_the_requests(self) -> Self:
        failed = self.timeouts + self.failures
        if failed > self.requests:
            problem, accepted = "are more than the requests", f"at most {self.requests}"
            raise RefusedValue(problem, key="timeouts + failures", value=failed, accepted=accepted)
        return self


class _TorMetrics(BaseModel):
    """Seconds, bits per second, and for relays Gbit/s by day. The file that ships says that its times count
    from the opening of the SOCKS connection."""

    download_times: dict[str, list[_Seconds]]
    download_times_from: Literal["request", "opening"] = "request"
    daily_counts: dict[str, _Day]
    circuit_rtt: list[_Seconds] = []
    circuit_build_times: list[_Seconds] = []
    client_goodput: list[_Rate] = []
    client_goodput_5MiB: list[_Rate] = []  # noqa: N815
    relay_goodput: dict[str, _Rate] = {}


def _of_tor_metrics(metrics: _TorMetrics) -> Iterator[_Row]:
    measure = "ttlb_after_command" if metrics.download_times_from == "request" else "ttlb"
    for size, kind in KIND_OF.items():
        for seconds in metrics.download_times.get(str(size), []):
            yield measure, kind, seconds
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


class _Measured(BaseModel):
    """A download as one version of TGen tells of it."""

    is_error: bool
    unix_ts_end: float = 0.0
    local: str
    """Name, address and port."""

    @abstractmethod
    def download(self) -> _Download:
        """The download in the terms that all versions share."""

    @model_validator(mode="after")
    def _steps_are_in_order(self) -> Self:
        """A step before the one that it needs would give a negative time."""
        download = self.download()
        steps = list(download.steps.items())
        for (earlier, before_s), (step, after_s) in itertools.pairwise(steps):
            if after_s < before_s:
                accepted = f"at or after the {earlier}, {before_s:g} s"
                raise RefusedValue("is out of order", key=step, value=f"{after_s:g} s", accepted=accepted)
        request_s = download.steps.get("command", 0.0)
        for part, reached_s in (*download.at_bytes.items(), *download.at_share.items()):
            if reached_s < request_s:
                accepted = f"at or after the command, {request_s:g} s"
                key, value = f"elapsed seconds at {part}", f"{reached_s:g} s"
                raise RefusedValue("is out of order", key=key, value=value, accepted=accepted)
        return self


class _OnionPerfStream(_Measured):
    """A download of TGen 1, in versions 3 and 4; times are µs since the stream was created, -1: never."""

    local: str = Field("", validation_alias=AliasPath("transport_info", "local"))
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
        onion = _is_onion(self.remote)
        return _Download(self.bytes_wanted, failed, onion, steps, self.at_bytes, self.at_share)


_DOWNLOAD_STEPS = ("command", "response", "first_byte", "last_byte")


def _is_onion(remote: str) -> bool:
    """Whether a server, ``name:address:port``, is an onion service."""
    return remote.partition(":")[0].endswith(ONION_SUFFIX)


class _TransferTimes(BaseModel):
    """Seconds since the transfer was created; 0 or missing: never."""

    command: _Seconds = 0.0
    response: _Seconds = 0.0
    first_byte: _Seconds = 0.0
    last_byte: _Seconds = 0.0
    payload_bytes: dict[str, _Seconds] = {}
    payload_progress: dict[str, _Seconds] = {}


class _Transfer(_Measured):
    """A download of TGen 0, in version 2."""

    local: str = Field("", validation_alias="endpoint_local")
    filesize_bytes: Annotated[int, Field(gt=0)]
    payload_bytes_status: int
    endpoint_remote: str = ""
    elapsed_seconds: _TransferTimes

    def download(self) -> _Download:
        elapsed = self.elapsed_seconds
        steps = {name: getattr(elapsed, name) for name in _DOWNLOAD_STEPS if getattr(elapsed, name) > 0}
        failed = self.is_error or self.payload_bytes_status < self.filesize_bytes
        onion = _is_onion(self.endpoint_remote)
        reached = elapsed.payload_bytes, elapsed.payload_progress
        return _Download(self.filesize_bytes, failed, onion, steps, *reached)


class _Circuit(BaseModel):
    buildtime_seconds: _Seconds | None = None
    filtered_out: bool = False


class _TorStream(BaseModel):
    """A stream as tor tells of it; ``source`` is the address and the port of TGen."""

    source: str = ""
    circuit_id: str | int | None = None
    unix_ts_end: float = 0.0


class _Vantage(BaseModel):
    """The measurements of one of OnionPerf's hosts."""

    streams: dict[str, _OnionPerfStream] = Field({}, validation_alias=AliasPath("tgen", "streams"))
    transfers: dict[str, _Transfer] = Field({}, validation_alias=AliasPath("tgen", "transfers"))
    circuits: dict[str, _Circuit] = Field({}, validation_alias=AliasPath("tor", "circuits"))
    tor_streams: dict[str, _TorStream] = Field({}, validation_alias=AliasPath("tor", "streams"))

    def downloads(self, is_filtered: bool) -> Iterator[_Download]:
        """The downloads that count: if ``is_filtered``, those over a circuit that is known and was kept."""
        of_port: dict[str, list[_TorStream]] = {}
        for stream in self.tor_streams.values():
            of_port.setdefault(stream.source.rpartition(":")[2], []).append(stream)
        measured: list[_Measured] = [*self.streams.values(), *self.transfers.values()]
        for one in measured:
            streams = of_port.get(one.local.rpartition(":")[2], [])
            if not is_filtered or self._is_kept(one, streams):
                yield one.download()

    def _is_kept(self, measured: _Measured, streams: list[_TorStream]) -> bool:
        """Whether the circuit of ``measured`` was kept; ``streams`` are tor's of the same port."""
        same = (s for s in streams if abs(s.unix_ts_end - measured.unix_ts_end) < _SAME_STREAM_S)
        stream = next(same, _TorStream())
        circuit = self.circuits.get(str(stream.circuit_id))
        return circuit is not None and not circuit.filtered_out


class _Analysis(BaseModel):
    data: dict[str, _Vantage]
    filters: dict[str, Any] = {}
    """What ``onionperf filter`` left out; empty in a file that was not filtered."""


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
        for download in host.downloads(bool(analysis.filters)):
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
