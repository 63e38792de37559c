"""What the public Tor network gives its users, as OnionPerf measures it.

In: a ``tor_metrics_….json``, which `tornettools stage` makes of OnionPerf's files; plain, gzip or xz. Out: a
frame with a row for each measured value, in the columns of :data:`SCHEMA`.

What a value means, and when a download counts as failed, is as tornettools has it in ``parse_onionperf.py``:
times count from the request on; the time to 50 KiB is that of the first 50 KiB of any download, so that the
5 MiB downloads of today's OnionPerf tell of all three sizes; onion services are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import polars as pl
from pydantic import BaseModel, Field, model_validator

from torsweep.config.reading import RefusedValue, validate
from torsweep.config.traffic import MEASURING_TRAFFIC
from torsweep.errors import InputError
from torsweep.formats.files import parse_json, whole_text

PUBLIC_MEASURES: Mapping[str, str] = {
    "ttlb_after_command": "request to the last byte of the kind's size, s",
    "ttlb": "opening of the SOCKS connection to the last byte, s; of the file that ships only",
    "circuit_build_time": "from a circuit's launch until it was open, s",
    "round_trip": "request to the first byte of the server's answer, s",
    "goodput": "bytes/s: from 500 KiB to 1 MiB of a download, and from 4 to 5 MiB",
    "error_share": "share of downloads that failed or took too long for a perf client; one per day",
    "relay_goodput": "bytes/s that all relays together passed on; one value per day",
}

USUAL_PUBLIC_TOR = Path("topologies/validation/onionperf-2019.json")
"""What is beside perf clients where the user gives no file: see topologies/SOURCES.md."""

SCHEMA = pl.Schema({"measure": pl.String, "kind": pl.String, "value": pl.Float64})
"""A key of :data:`PUBLIC_MEASURES`, its perf client (null: any size), and seconds, bytes/s or a share."""

_MEASUREMENTS = "a tor_metrics file of tornettools"
_BITS = 8
_Row = tuple[str, str | None, float]
_NotNegative = Annotated[float, Field(ge=0)]


def read_public_tor(file: Path) -> pl.DataFrame:
    """The values in ``file``, in the columns of :data:`SCHEMA`; InputError when it is another file, or has no
    values in it."""
    document = parse_json(whole_text(file), file)
    if not {"download_times", "daily_counts"} <= document.keys():
        raise InputError("is no measurement of the public network", file=file, accepted=_MEASUREMENTS)
    rows = list(_of_tor_metrics(validate(_TorMetrics, document, file)))
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

    download_times: dict[str, list[_NotNegative]]
    download_times_from: Literal["request", "opening"] = "request"
    daily_counts: dict[str, _Day]
    circuit_rtt: list[_NotNegative] = []
    circuit_build_times: list[_NotNegative] = []
    client_goodput: list[_NotNegative] = []
    client_goodput_5MiB: list[_NotNegative] = []  # noqa: N815
    relay_goodput: dict[str, _NotNegative] = {}


def _of_tor_metrics(metrics: _TorMetrics) -> Iterator[_Row]:
    measure = "ttlb_after_command" if metrics.download_times_from == "request" else "ttlb"
    for kind, does in MEASURING_TRAFFIC.items():
        for seconds in metrics.download_times.get(str(does.mean_response), []):
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
