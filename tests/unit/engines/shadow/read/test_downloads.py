"""Downloads that TGen reported, and those it never came to report."""

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
    stamp,
    tgen_opening,
)
from torsweep.engines.shadow.read import write_tables
from torsweep.engines.shadow.read.oniontrace import BEFORE_PAYLOAD_BYTES
from torsweep.engines.table_schema import STREAMS, validate


def streams(scene: Scene, folder: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    run, shadow = scene.write(folder)
    counters = write_tables(run, shadow)
    file = run / "streams.parquet"
    return validate(pl.read_parquet(file), STREAMS, file), counters


def test_times_count_from_the_socket_and_tgentools_from_the_command(tmp_path):
    rows, _ = streams(Scene([Download(1, 0.0, socks_s=0.2, first_s=0.5, last_s=1.5, ended_s=58.0)]), tmp_path)
    assert rows.rows(named=True) == [
        {
            "client": "web1",
            "kind": "web",
            "circuit": None,
            "stream": 1,
            "server": "server1",
            "start_us": 0,
            "socks_reply_us": 200_000,
            "command_us": 200_000,
            "first_byte_us": 500_000,
            "half_us": None,
            "most_us": None,
            "last_byte_us": 1_500_000,
            "latest_byte_us": 1_500_000,
            "first_byte_after_command_us": 300_000,
            "last_byte_after_command_us": 1_300_000,
            "observed_us": 1_500_000,
            "bytes_wanted": WANTED,
            "bytes_got": WANTED,
            "outcome": "complete",
            "error": None,
        }
    ]


@pytest.mark.parametrize(
    ("error", "transport", "outcome", "told"),
    [
        ("READ", ("SUCCESS_OPEN", "NONE"), "failed", "READ"),
        ("READEOF", ("SUCCESS_EOF", "NONE"), "failed", "READEOF"),
        ("STALLOUT", ("SUCCESS_OPEN", "NONE"), "failed", "STALLOUT"),
        ("PROXY", ("ERROR", "STATUS"), "failed", "PROXY-STATUS-ERROR"),
        ("TIMEOUT", ("SUCCESS_OPEN", "NONE"), "timeout", None),
        ("PROXY", ("RESPONSE_STATUS", "TIMEOUT"), "timeout", None),
    ],
)
def test_what_went_wrong_is_an_outcome_of_its_own(error, transport, outcome, told, tmp_path):
    bad = Download(1, 0.0, socks_s=None, first_s=None, last_s=None, ended_s=58.0, got=0)
    bad.error, bad.transport = error, transport
    rows, counters = streams(Scene([bad]), tmp_path)
    row = rows.row(0, named=True)
    assert (row["outcome"], row["error"], row["observed_us"]) == (outcome, told, 58_000_000)
    assert row["socks_reply_us"] is row["first_byte_us"] is row["last_byte_us"] is None
    assert counters[outcome] == 1


def test_the_last_byte_that_came_before_a_failure_is_not_the_last_of_the_download(tmp_path):
    rows, _ = streams(Scene([Download(1, 0.0, ended_s=58.0, got=1000, error="READ")]), tmp_path)
    assert rows.select("first_byte_us", "last_byte_us", "latest_byte_us").rows() == [
        (300_000, None, 1_000_000)
    ]


def test_shares_of_a_payload_are_known_where_tgen_tells_how_far_downloads_are(tmp_path):
    def grown(time_s: float, number: int, got: int) -> str:
        return (
            f"{stamp(time_s)} [info] [tgen-stream.c:1754] [_tgenstream_log] [stream-status] transport [fd=5]"
            f" stream [id={number - 1},vertexid=stream{number}] bytes [x=1,payload-bytes-recv={got}]"
        )

    tgen = [
        *tgen_opening(),
        grown(0.4, 1, WANTED // 2 - 1),
        grown(0.6, 1, WANTED // 2),
        grown(0.7, 1, WANTED * 3 // 4),
        # Four fifths are there only with the last byte.
        Download(1, 0.0).report(),
        grown(6.85, 2, WANTED * 4 // 5),
        Download(2, 6.25, ended_s=2.0, got=WANTED * 4 // 5, error="READ").report(),
        grown(13.35, 3, WANTED // 2),
        # A line without a new byte.
        grown(14.0, 3, WANTED // 2),
    ]
    rows, _ = streams(Scene(tgen=tgen), tmp_path)
    assert rows.select("outcome", "half_us", "most_us", "last_byte_us", "latest_byte_us").rows() == [
        ("complete", 600_000, 1_000_000, 1_000_000, 1_000_000),
        ("failed", 600_000, 600_000, None, 1_000_000),
        ("unfinished", 100_000, None, None, 100_000),
    ]


def test_a_download_without_a_report_was_cut_off_by_the_end(tmp_path):
    first = Download(1, 2.0)
    rows, counters = streams(Scene([first], begun_s=2.0, pauses_s=(7.5, 9.0)), tmp_path)
    start_us = round((first.end_s + 7.5) * 1e6)
    assert rows.select("outcome", "stream", "start_us", "observed_us", "bytes_got").rows() == [
        ("complete", 1, 2_000_000, 1_000_000, WANTED),
        ("unfinished", 2, start_us, DURATION_S * 10**6 - start_us, None),
    ]
    assert (counters["unfinished"], counters["unfinished_of_unknown_bytes"]) == (1, 1)


ROUND = [Download(1, 0.0), Download(2, 2.25), Download(3, 4.5, vertex="stream1")]
SIDE_BY_SIDE = [Download(1, 0.0), Download(2, 0.0, ended_s=4.0)]


@pytest.mark.parametrize(
    ("scene", "starts_us"),
    [
        (Scene([Download(1, 0.0)], pauses_s=(DURATION_S, 1.0)), []),
        (Scene([], begun_s=3.0), [3_000_000]),
        (Scene(ROUND, pauses_s=(1.0, 1.0)), [6_750_000]),
        (Scene(SIDE_BY_SIDE, pauses_s=(1.0, 1.0, 2.0, 2.0), parallel=2), [2_250_000, 5_000_000]),
    ],
    ids=["it pauses at the end", "its first never ends", "its steps come round again", "each of two chains"],
)
def test_what_a_client_has_unfinished(tmp_path, scene, starts_us):
    rows, _ = streams(scene, tmp_path)
    reported = len(scene.downloads)
    assert rows["outcome"].to_list() == ["complete"] * reported + ["unfinished"] * len(starts_us)
    assert rows["start_us"].to_list()[reported:] == starts_us
    assert rows["stream"].to_list() == list(range(1, rows.height + 1))
    assert set(rows["server"]) == {"server1"}


def test_tor_knows_how_far_an_unfinished_download_came(tmp_path):
    start_s = 6.25
    trace = [
        *carried(7, 1, 4, 0.0, 0.1),
        event(1.2, f"650 STREAM_BW 7 2604 {WANTED + 122} 2000-01-01T00:01:41.2"),
        event(1.25, "650 STREAM 7 CLOSED 4 11.0.0.7:80 REASON=DONE"),
        *carried(8, 2, 5, start_s, 0.4),
        event(start_s + 0.5, "650 STREAM_BW 8 2616 12 2000-01-01T00:01:46.7"),
        event(start_s + 0.9, "650 STREAM_BW 8 0 70 2000-01-01T00:01:47.1"),
        event(start_s + 1.5, "650 STREAM_BW 8 0 5000 2000-01-01T00:01:47.7"),
        event(start_s + 2.5, "650 STREAM_BW 8 0 2000 2000-01-01T00:01:48.7"),
    ]
    rows, _ = streams(Scene([Download(1, 0.0)], trace=trace), tmp_path)
    assert rows["circuit"].to_list() == [4, 5]
    cut_off = rows.row(1, named=True)
    assert cut_off["socks_reply_us"] == cut_off["command_us"] == 400_000
    # The end of the second with the first byte behind SOCKS and header.
    assert cut_off["first_byte_us"] == 1_500_000
    assert cut_off["latest_byte_us"] == 2_500_000
    assert cut_off["bytes_got"] == 12 + 70 + 5000 + 2000 - BEFORE_PAYLOAD_BYTES


def test_a_download_whose_connection_never_opened_got_nothing(tmp_path):
    trace = [*carried(8, 1, 5, 0.0, None), event(0.5, "650 STREAM_BW 8 13 2 2000-01-01T00:01:40.5")]
    rows, _ = streams(Scene([], trace=trace), tmp_path)
    told = rows.select("bytes_got", "socks_reply_us", "first_byte_us", "latest_byte_us")
    assert told.rows() == [(0, None, None, None)]


def test_a_port_used_again_belongs_to_the_download_of_its_time(tmp_path):
    again = Download(2, 6.25, port=39_999)
    trace = [*carried(7, 1, 4, 0.0, 0.1), *carried(9, 1, 6, 6.25, 0.1)]
    rows, _ = streams(Scene([Download(1, 0.0), again], trace=trace), tmp_path)
    assert rows["circuit"].to_list()[:2] == [4, 6]


def test_a_server_that_tgen_names_by_its_address_alone_gets_its_name(tmp_path):
    rows, _ = streams(Scene([Download(1, 0.0, server="NULL:11.0.0.8:80")]), tmp_path)
    assert rows["server"][0] == "server2"
