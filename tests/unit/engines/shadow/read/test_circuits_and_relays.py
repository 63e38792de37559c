"""Circuits, paths, bandwidth and progress from OnionTrace's events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.engines.shadow.read.made_logs import (
    DURATION_S,
    WANTED,
    Download,
    Scene,
    carried,
    event,
    path,
    stamp,
    tgen_opening,
)
from torsweep.engines.run_spec import RunTables, read_run
from torsweep.engines.shadow.read import write_tables
from torsweep.engines.shadow.simulate import compress_logs
from torsweep.engines.table_schema import CIRCUITS, PROGRESS, RECEIVED, RELAYS, ROUND_TRIPS, validate
from torsweep.errors import InputError

BUILT = "BUILD_FLAGS=NEED_CAPACITY PURPOSE=GENERAL TIME_CREATED=2000-01-01T00:01:41.000000"
ONE_HOP = "BUILD_FLAGS=ONEHOP_TUNNEL,IS_INTERNAL PURPOSE=GENERAL"

NO_CONFLUX = (None, None, None)
"""Set, round trip and bytes of a leg."""


def read(scene: Scene, folder: Path, progress: bool = False) -> tuple[Path, dict[str, Any]]:
    """The run of ``scene`` with its tables, and the counters."""
    run, shadow = scene.write(folder)
    read_run(run).model_copy(update={"tables": RunTables(progress=progress)}).write(run)
    return run, write_tables(run, shadow)


def table(scene: Scene, folder: Path, name: str, progress: bool = False) -> pl.DataFrame:
    return pl.read_parquet(read(scene, folder, progress)[0] / f"{name}.parquet")


def test_a_circuit_that_was_there_before_is_known_from_the_list(tmp_path: Path) -> None:
    trace = [
        event(-40, "250+circuit-status="),
        event(-40, f"1 BUILT {path('relay5')} {ONE_HOP}"),
        event(-40, f"4 BUILT {path('relay1', 'relay2', 'relay3')} {BUILT}"),
        event(-40, "."),
        event(-40, "250 OK"),
        *carried(7, 1, 4, 0.0, 0.1),
    ]
    rows = validate(table(Scene([Download(1, 0.0)], trace=trace), tmp_path, "circuits"), CIRCUITS, tmp_path)
    used = rows.filter(circuit=4).select("path", "launched_us", "built_us", "first_use_us", "streams")
    assert used.rows() == [("relay1,relay2,relay3", None, None, 1000, 1)]


def test_circuits_that_were_seen_growing_until_they_closed_or_failed(tmp_path: Path) -> None:
    hops, failing = ("relay1", "relay2", "relay3"), f"{path('relay1')} {BUILT} REASON=DESTROYED"
    trace = [
        *(event(1, f"650 CIRC {number} LAUNCHED {BUILT}") for number in (8, 9)),
        *(event(1 + n / 10, f"650 CIRC 9 EXTENDED {path(*hops[:n])} {BUILT}") for n in (1, 2, 3)),
        event(1.3, f"650 CIRC 9 BUILT {path(*hops)} {BUILT}"),
        event(1.4, f"650 CIRC 8 EXTENDED {path('relay1')} {BUILT}"),
        event(2, f"650 CIRC 8 FAILED {failing} REMOTE_REASON=CHANNEL_CLOSED"),
        event(9, f"650 CIRC 9 CLOSED {path(*hops)} PURPOSE=GENERAL REASON=FINISHED"),
    ]
    rows = table(Scene([Download(1, 0.0)], trace=trace), tmp_path, "circuits")
    failed = (1_000_000, None, None, 2_000_000, "DESTROYED", "relay1")
    closed = (1_000_000, 1_300_000, None, 9_000_000, "FINISHED", "relay1,relay2,relay3")
    assert rows.rows() == [
        ("web1", number, "GENERAL", *told, 0, *NO_CONFLUX) for number, told in ((8, failed), (9, closed))
    ]


def test_a_stream_that_had_to_change_circuits_counts_for_the_last(tmp_path: Path) -> None:
    trace = [
        *carried(7, 1, 4, 0.0, None),
        event(0.05, "650 STREAM 7 DETACHED 4 11.0.0.7:80 REASON=TIMEOUT"),
        event(0.06, "650 STREAM 7 SENTCONNECT 6 11.0.0.7:80"),
        event(0.1, "650 STREAM 7 SUCCEEDED 6 11.0.0.7:80"),
    ]
    run, counters = read(Scene([Download(1, 0.0)], trace=trace), tmp_path)
    assert pl.read_parquet(run / "streams.parquet")["circuit"][0] == 6
    circuits = pl.read_parquet(run / "circuits.parquet")
    assert circuits.select("circuit", "first_use_us", "streams", "path").rows() == [
        (4, 1000, 0, None),
        (6, 60_000, 1, None),
    ]
    assert counters["used_circuits_of_unknown_path"] == 1


def test_streams_of_tor_itself_are_no_downloads(tmp_path: Path) -> None:
    to = "11.0.0.1.$AA.exit:9001"
    new = f"650 STREAM 3 NEW 0 {to} SOURCE_ADDR=(Tor_internal):1 PURPOSE=DIR_FETCH"
    trace = [event(0.5, new), event(0.5, f"650 STREAM 3 SENTCONNECT 2 {to}")]
    assert table(Scene([Download(1, 0.0)], trace=trace), tmp_path, "circuits").is_empty()


def test_bandwidth_counts_for_the_second_in_which_most_of_it_lies(tmp_path: Path) -> None:
    lines = [
        event(-0.7, "650 BW 99 99"),
        event(1.2, "650 BW 10 20"),
        event(2.2, "650 BW 30 40"),
        event(4.7, "650 BW 1 2"),
        event(5.4, "650 BW 3 4"),
        event(DURATION_S + 0.6, "650 BW 77 77"),
    ]
    rows = table(Scene([Download(1, 0.0)], relays={"relay2": lines}), tmp_path, "relays")
    assert validate(rows, RELAYS, tmp_path) is rows
    assert rows.height == DURATION_S
    assert rows["relay"].unique().to_list() == ["relay2"]
    carried_bytes = rows.filter(pl.col("bytes_in") > 0).select("second", "bytes_in", "bytes_out")
    assert carried_bytes.rows() == [(0, 10, 20), (1, 30, 40), (4, 4, 6)]
    assert rows["queued_cells"].null_count() == rows["cpu_us"].null_count() == DURATION_S


def test_relays_without_a_trace_are_counted(tmp_path: Path) -> None:
    run, counters = read(Scene([Download(1, 0.0)]), tmp_path)
    assert counters["relays_without_trace"] == 5
    assert counters["clients_without_trace"] == 1
    assert pl.read_parquet(run / "relays.parquet").is_empty()


def test_progress_to_the_second_from_tor(tmp_path: Path) -> None:
    trace = [
        *carried(7, 1, 4, 0.0, 0.1),
        event(0.5, "650 STREAM_BW 7 13 80 2000-01-01T00:01:40.5"),
        event(1.5, "650 STREAM_BW 7 0 1000 2000-01-01T00:01:41.5"),
        event(2.5, f"650 STREAM_BW 7 0 {WANTED} 2000-01-01T00:01:42.5"),
    ]
    rows = table(Scene([Download(1, 0.0, ended_s=58.0)], trace=trace), tmp_path, "progress", progress=True)
    assert validate(rows, PROGRESS, tmp_path).rows() == [
        ("web1", 1, *told) for told in ((500_000, 0), (1_500_000, 1000), (2_500_000, WANTED))
    ]


def test_progress_to_the_read_from_tgen(tmp_path: Path) -> None:
    status = (
        "[info] [tgen-stream.c:1754] [_tgenstream_log] [stream-status] transport"
        " [fd=5,remote=server1:11.0.0.7:80] stream [id=0,vertexid=stream1,name=web1]"
        " bytes [total-bytes-recv={},payload-bytes-recv={},x=1]"
    )
    tgen = [
        *tgen_opening(),
        f"{stamp(0.4)} {status.format(569, 500)}",
        f"{stamp(0.6)} {status.format(1069, 1000)}",
        Download(1, 0.0, ended_s=58.0).report(),
    ]
    run, counters = read(Scene(tgen=tgen), tmp_path, progress=True)
    assert pl.read_parquet(run / "progress.parquet").rows() == [
        ("web1", 1, 400_000, 500),
        ("web1", 1, 600_000, 1000),
    ]
    assert counters["tgen"]["unknown_lines"] == 0


def test_what_clients_received_counts_for_the_second_in_which_most_of_it_came(tmp_path: Path) -> None:
    trace = [
        *carried(7, 1, 4, 0.0, 0.1),
        event(0.4, "650 STREAM_BW 7 13 80 2000-01-01T00:01:40.4"),
        event(1.4, "650 STREAM_BW 7 0 1000 2000-01-01T00:01:41.4"),
        # After a pause: of this second, and not of all the time since the event before.
        event(4.6, "650 STREAM_BW 7 0 5000 2000-01-01T00:01:44.6"),
        # The stream closes; TGen's checksum comes behind the payload.
        event(5.1, f"650 STREAM_BW 7 0 {WANTED - 6000 + 41} 2000-01-01T00:01:45.1"),
    ]
    rows = table(Scene([Download(1, 0.0, ended_s=5.2)], trace=trace), tmp_path, "received")
    assert validate(rows, RECEIVED, tmp_path).rows() == [(0, "web", 1000), (4, "web", WANTED - 1000)]


def test_windows_that_exits_computed(tmp_path: Path) -> None:
    run, shadow = Scene([Download(1, 0.0)]).write(tmp_path)
    told = (
        "Jan 01 00:0{}:{} [info] {}(): CC: Circuit 3:-5 SENDME RTT: 80, 95, 90, 120, 160",
        "Jan 01 00:0{}:{} [info] {}(): CC: TOR_VEGAS RTT: 80, 90, 120, CWND: 180, INFL: 93, VBDP: 160,"
        " QUSE: 20, BWE: 1028000, SS: 0",
    )
    lines = [
        line.format(minute, second, function)
        for minute, second in ((1, "39.999"), (1, "42.250"), (2, "40.000"))
        for line, function in zip(
            told, ("congestion_control_update_circuit_bdp", "congestion_control_vegas_log"), strict=True
        )
    ]
    Scene.put(shadow, "relay3/round_trips.log", lines)
    write_tables(run, shadow)
    rows = validate(pl.read_parquet(run / "round_trips.parquet"), ROUND_TRIPS, run)
    expected = [("relay3", 3 * 2**32 + 2**32 - 5, 2_250_000, 90_000, 80_000, 180)]
    assert rows.rows() == expected
    compress_logs(shadow)
    write_tables(run, shadow)
    assert pl.read_parquet(run / "round_trips.parquet").rows() == expected


def test_progress_that_nobody_logged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="progress of downloads, which no log tells"):
        read(Scene([Download(1, 0.0)]), tmp_path, progress=True)
