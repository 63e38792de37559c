"""Measurements of the public network: OnionPerf's files of each version, tornettools' of many, and others."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from torsweep.errors import InputError
from torsweep.runsets.public_tor import PUBLIC_MEASURES, SCHEMA, read_public_tor

MIB = 2**20


def _values(found: pl.DataFrame) -> dict[tuple[str, str | None], list[float]]:
    kept: dict[tuple[str, str | None], list[float]] = {}
    for measure, kind, value in found.iter_rows():
        kept.setdefault((measure, kind), []).append(pytest.approx(value))
    return kept


def _stream(
    wanted: int, *, last_s: float, got: int | None = None, error: str = "NONE", **others: Any
) -> dict:
    """A download of TGen 1 that asked after 0.5 s and got its first byte after 0.9 s."""
    times = {
        "command": 500_000,
        "response": 800_000,
        "first-byte-recv": 900_000,
        "last-byte-recv": last_s * 1e6,
    }
    return {
        "is_error": error != "NONE",
        "is_success": error == "NONE",
        "byte_info": {"payload-bytes-recv": str(wanted if got is None else got)},
        "stream_info": {"recvsize": str(wanted), "error": error},
        "transport_info": {"remote": "server:203.0.113.7:8080"},
        "time_info": {f"usecs-to-{step}": str(round(us)) for step, us in times.items()},
        **others,
    }


def _written(folder: Path, document: object) -> Path:
    file = folder / "measured.json"
    file.write_text(json.dumps(document, indent=2))
    return file


def _analysis(streams: list[dict], version: str = "4.0", circuits: dict | None = None) -> dict[str, Any]:
    source = {
        "measurement_ip": "192.0.2.1",
        "tgen": {"streams": {str(number): stream for number, stream in enumerate(streams)}},
        "tor": {"circuits": circuits or {}, "streams": {}},
    }
    return {"type": "onionperf", "version": version, "data": {"op-de": source}}


def test_a_download_of_5_mib_tells_of_all_three_sizes(tmp_path: Path) -> None:
    reached = {
        "payload_bytes_recv": {"51200": 1.5, "512000": 2.0, "1048576": 3.0, "5242880": 8.5},
        "payload_progress_recv": {"0.8": 6.5, "1.0": 8.5},
    }
    circuits = {
        "7": {"buildtime_seconds": 0.25},
        "8": {"buildtime_seconds": 9.0, "filtered_out": True},
        "9": {},
    }
    stream = _stream(5 * MIB, last_s=8.5, elapsed_seconds=reached)
    file = tmp_path / "2024-01-01.onionperf.analysis.json.xz"
    file.write_bytes(lzma.compress(json.dumps(_analysis([stream], circuits=circuits)).encode()))
    found = read_public_tor(file)
    assert found.schema == SCHEMA
    assert _values(found) == {
        ("circuit_build_time", None): [0.25],
        ("round_trip", None): [0.3],
        ("ttfb_after_command", None): [0.4],
        ("ttlb_after_command", "perf_50kib"): [1.0],
        ("ttlb_after_command", "perf_1mib"): [2.5],
        ("goodput", "perf_1mib"): [(MIB - 512_000) / 1.0],
        ("ttlb_after_command", "perf_5mib"): [8.0],
        ("goodput", "perf_5mib"): [MIB / 2.0],
        ("error_share", None): [0.0],
    }


def test_what_failed_came_short_or_too_late_is_a_share_and_no_time(tmp_path: Path) -> None:
    onion = {"transport_info": {"remote": "abcdef.onion:203.0.113.7:8080"}}
    streams = [
        _stream(51_200, last_s=1.5),
        _stream(51_200, last_s=-1e-6, error="TIMEOUT"),
        _stream(51_200, last_s=1.5, got=20_000),
        # 15 s is how long a perf client waits for 50 KiB; the request went out after half a second.
        _stream(51_200, last_s=15.6),
        _stream(51_200, last_s=1.5, **onion),
    ]
    values = _values(read_public_tor(_written(tmp_path, _analysis(streams, "3.1"))))
    assert values["ttlb_after_command", "perf_50kib"] == [1.0]
    assert values["error_share", None] == [0.75]


def test_an_onion_service_is_one_by_the_end_of_its_name(tmp_path: Path) -> None:
    named = {"transport_info": {"remote": "op-de.onionperf.example.net:203.0.113.7:8080"}}
    file = _written(tmp_path, _analysis([_stream(51_200, last_s=1.5, **named)]))
    assert _values(read_public_tor(file))["ttlb_after_command", "perf_50kib"] == [1.0]


def test_of_a_filtered_file_only_downloads_over_the_circuits_kept_count(tmp_path: Path) -> None:
    """Each download's port leads to tor's stream of about the same end, and that to the circuit."""
    ports = {1: 1.5, 2: 2.5, 3: 3.5, 4: 4.5}
    streams = [
        _stream(51_200, last_s=last_s, transport_info={"local": f"h:192.0.2.1:{port}"}, unix_ts_end=1000.0)
        for port, last_s in ports.items()
    ]
    circuits = {
        "7": {"buildtime_seconds": 0.25, "filtered_out": False},
        "8": {"buildtime_seconds": 9.0, "filtered_out": True},
    }
    document = _analysis(streams, circuits=circuits)
    document["data"]["op-de"]["tor"]["streams"] = {
        "1": {"source": "127.0.0.1:1", "circuit_id": "7", "unix_ts_end": 1001.0},
        "2": {"source": "127.0.0.1:2", "circuit_id": 8, "unix_ts_end": 1001.0},
        "3": {"source": "127.0.0.1:3", "circuit_id": "7", "unix_ts_end": 5000.0},
    }
    times = "ttlb_after_command", "perf_50kib"
    assert _values(read_public_tor(_written(tmp_path, document)))[times] == [1.0, 2.0, 3.0, 4.0]
    document["filters"] = {"tor/circuits": [{"name": "exclude_fingerprints"}]}
    filtered = _values(read_public_tor(_written(tmp_path, document)))
    assert (filtered[times], filtered["circuit_build_time", None]) == ([1.0], [0.25])


def test_version_2_had_transfers(tmp_path: Path) -> None:
    transfer = {
        "is_error": False,
        "filesize_bytes": MIB,
        "payload_bytes_status": MIB,
        "endpoint_remote": "server:203.0.113.7:8080",
        "elapsed_seconds": {
            "command": 0.5,
            "response": 0.8,
            "first_byte": 0.9,
            "last_byte": 4.5,
            "payload_bytes": {"51200": 1.25, "512000": 2.5, "1048576": 4.5},
            "payload_progress": {"1.0": 4.5},
        },
    }
    document = {
        "type": "onionperf",
        "version": "2.0",
        "data": {"op-de": {"tgen": {"transfers": {"transfer1m:1": transfer}}}},
    }
    values = _values(read_public_tor(_written(tmp_path, document)))
    assert values["ttlb_after_command", "perf_50kib"] == [0.75]
    assert values["ttlb_after_command", "perf_1mib"] == [4.0]
    assert values["goodput", "perf_1mib"] == [(MIB - 512_000) / 2.0]


TOR_METRICS = {
    "circuit_build_times": [0.3, 0.5],
    "circuit_rtt": [0.4],
    "client_goodput": [8e6],
    "client_goodput_5MiB": [16e6],
    "daily_counts": {
        "2024-01-01": {"requests": 100, "timeouts": 1, "failures": 3},
        "2024-01-02": {"requests": 0, "timeouts": 0, "failures": 0},
    },
    "download_times": {"ALL": [1.0, 2.0, 8.0], "51200": [1.0], "1048576": [2.0], "5242880": [8.0]},
    "relay_goodput": {"2024-01-01": 200.0},
}


def test_tor_metrics_of_tornettools(tmp_path: Path) -> None:
    found = read_public_tor(_written(tmp_path, TOR_METRICS))
    assert _values(found) == {
        ("ttlb_after_command", "perf_50kib"): [1.0],
        ("ttlb_after_command", "perf_1mib"): [2.0],
        ("ttlb_after_command", "perf_5mib"): [8.0],
        ("circuit_build_time", None): [0.3, 0.5],
        ("round_trip", None): [0.4],
        ("goodput", "perf_1mib"): [1e6],
        ("goodput", "perf_5mib"): [2e6],
        ("error_share", None): [0.04],
        ("relay_goodput", None): [25e9],
    }
    assert set(found["measure"]) <= set(PUBLIC_MEASURES)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"relays": {}}, "is no measurement of the public network"),
        ({"type": "onionperf", "version": "1.0", "data": {}}, "version: is of another version, got '1.0'"),
        ({"type": "onionperf", "version": "5.0", "data": {}}, "accepted: 2, 3, 4"),
        (_analysis([]), "holds no measured value"),
        (_analysis([{**_stream(51_200, last_s=1.0), "time_info": {}}]), "time_info.usecs-to-command"),
        (
            _analysis([_stream(51_200, last_s=0.7)]),
            "streams.0.last_byte: is out of order, got '0.7 s'; accepted: at or after the first_byte, 0.9 s",
        ),
        (
            _analysis([_stream(51_200, last_s=9, elapsed_seconds={"payload_bytes_recv": {"10240": 0.4}})]),
            "elapsed seconds at 10240: is out of order",
        ),
        (
            {**TOR_METRICS, "daily_counts": {"d": {"requests": 10, "timeouts": 9, "failures": 2}}},
            "daily_counts.d.timeouts + failures: are more than the requests, got 11; accepted: at most 10",
        ),
        ({**TOR_METRICS, "circuit_rtt": ["soon"]}, "circuit_rtt[0]: is not accepted, got 'soon'"),
    ],
)
def test_other_content_is_one_line(tmp_path: Path, document: object, says: str) -> None:
    file = _written(tmp_path, document)
    with pytest.raises(InputError) as refused:
        read_public_tor(file)
    assert str(file) in str(refused.value)
    assert says in str(refused.value)
