"""Tables of a real-time run: times from the start, seconds of relays each in its row."""

from __future__ import annotations

import polars as pl
import pytest

from tests.unit.engines.emulation.conftest import POSITIONS, network
from torsweep.engines.emulation.control import CircuitSeen
from torsweep.engines.emulation.downloads import Download
from torsweep.engines.emulation.read import (
    SECOND_NS,
    circuits_frame,
    progress_frame,
    read_links,
    received_frame,
    relays_frame,
    streams_frame,
    wire_frame,
)
from torsweep.engines.table_schema import CIRCUITS, PROGRESS, RECEIVED, RELAYS, STREAMS, WIRE, validate

CLIENT = network(*POSITIONS).clients[0]
SERVER = network(*POSITIONS).servers[0]
ZERO = 5 * SECOND_NS


def download(number: int, **changes: object) -> Download:
    made = Download(CLIENT, 0, number, number, SERVER, 1_000, ZERO + 1_000_000, end_ns=ZERO + 9_000_000)
    for key, value in changes.items():
        setattr(made, key, value)
    return made


def test_times_of_a_download_count_from_its_start_or_its_command(tmp_path):
    moments_us = {"socks_reply": 3_000, "command": 3_000, "first_byte": 4_500, "half": 5_000, "most": 6_000}
    moments_us |= {"last_byte": 9_000, "latest_byte": 9_000}
    moments = {f"{name}_ns": ZERO + 1_000 * moment for name, moment in moments_us.items()}
    complete = download(2, got=1_000, outcome="complete", circuit=1, **moments)
    frame = validate(streams_frame([complete, download(1)], ZERO), STREAMS, tmp_path)
    first, second = frame.to_dicts()
    assert (first["stream"], second["stream"], second["start_us"]) == (1, 2, 1_000)
    assert {name: second[f"{name}_us"] for name in moments_us} == {
        name: moment - 1_000 for name, moment in moments_us.items()
    }
    assert second["first_byte_after_command_us"] == 1_500
    assert second["last_byte_after_command_us"] == 6_000
    assert second["observed_us"] == 8_000
    assert first["outcome"] == "unfinished"
    for name in ("first_byte_us", "first_byte_after_command_us", "latest_byte_us"):
        assert first[name] is None


@pytest.mark.parametrize("outcome", ["unfinished", "failed", "timeout"])
def test_a_download_that_was_not_whole_has_the_time_of_its_latest_byte(outcome, tmp_path):
    cut = download(1, outcome=outcome)
    for moment_ms in (2, 4):
        cut.take_in(300, ZERO + moment_ms * 1_000_000, progress=False)
    (row,) = validate(streams_frame([cut], ZERO), STREAMS, tmp_path).to_dicts()
    assert (row["first_byte_us"], row["latest_byte_us"], row["last_byte_us"]) == (1_000, 3_000, None)


def test_progress_counts_from_the_runs_start(tmp_path):
    made = download(1, progress=[(ZERO + 2_000_000, 498), (ZERO + 4_000_000, 1_000)])
    frame = validate(progress_frame([made], ZERO), PROGRESS, tmp_path)
    assert frame.rows() == [("bulk1", 1, 2_000, 498), ("bulk1", 1, 4_000, 1_000)]


def seconds(*ends_ms: int) -> list[tuple[int, int, int, int]]:
    """Samples at these moments, the n-th with n bytes read, ten times as many written, n ms of CPU more."""
    samples, cpu = [], 0
    for number, end in enumerate(ends_ms, start=1):
        cpu += number * 1_000_000
        samples.append((ZERO + end * 1_000_000, number, 10 * number, cpu))
    return samples


def test_a_relays_second_is_booked_where_most_of_it_lies(tmp_path):
    frame = relays_frame({"relay1": seconds(400, 1400, 2400)}, {}, ZERO, ZERO + 2 * SECOND_NS)
    validate(frame, RELAYS, tmp_path)
    assert frame.select("second", "bytes_in", "bytes_out", "cpu_us").rows() == [
        (0, 2, 20, 2_000),
        (1, 3, 30, 3_000),
    ]


@pytest.mark.parametrize(
    ("ends", "run_ns", "booked"),
    [
        ((1510, 2490, 3510), 9 * SECOND_NS, [1, 2, 3]),  # a little late, or early
        ((1490, 2510, 3490), 9 * SECOND_NS, [0, 1, 2]),
        ((1000, 2000, 9000), 9 * SECOND_NS, [0, 1, 8]),  # a clock that stood still
        ((1000, 2000, 3000), SECOND_NS + 1, [0, 1]),  # the second that the run ends in
    ],
)
def test_no_second_is_left_out_and_what_tor_does_not_tell_is_empty(ends, run_ns, booked):
    frame = relays_frame({"relay1": seconds(*ends)}, {}, ZERO, ZERO + run_ns)
    assert frame["second"].to_list() == booked
    assert set(frame.select("queued_cells", "queued_cells_max", "outbuf_bytes").rows()) == {(None,) * 3}


def test_queues_are_those_at_the_end_of_the_second():
    asked = [(ZERO + 980_000_000, 7), (ZERO + 2_010_000_000, 9)]
    frame = relays_frame({"relay1": seconds(1000, 2000, 3000)}, {"relay1": asked}, ZERO, ZERO + 3 * SECOND_NS)
    assert frame.select("second", "queued_cells").rows() == [(0, 7), (1, 9), (2, None)]


def test_circuits_have_their_times_from_the_runs_start_and_their_streams(tmp_path):
    seen = [
        CircuitSeen(9, "GENERAL", "relay1,relay2,relay3", None, None, ZERO + 5_000, None, None),
        CircuitSeen(4, "GENERAL", "relay1,relay2,relay3", None, ZERO - 2_000, None, ZERO - 1_000, "FINISHED"),
        CircuitSeen(5, "GENERAL", None, ZERO - 9_000, ZERO - 2_000, None, ZERO + 1_000, "DESTROYED"),
        CircuitSeen(6, "GENERAL", None, ZERO + 1_000, None, None, ZERO + 2_000, "TIMEOUT"),
    ]
    seen[0].conflux |= {"conflux_set": "AB", "round_trip_us": "81234"}
    frame = circuits_frame({"bulk1": seen}, [download(1, circuit=9), download(2, circuit=9)], ZERO)
    validate(frame, CIRCUITS, tmp_path)
    assert frame.select("conflux_set", "round_trip_us").rows() == [(None, None)] * 2 + [("AB", 81234)]
    times = ("launched_us", "built_us", "first_use_us", "closed_us")
    assert frame.select("circuit", *times, "close_reason", "streams").rows() == [
        (5, -9, -2, None, 1, "DESTROYED", 0),
        (6, 1, None, None, 2, "TIMEOUT", 0),
        (9, None, None, 5, None, None, 2),
    ]


def test_payload_is_told_by_second_and_kind(tmp_path):
    frame = received_frame({(1, "web"): 5, (0, "web"): 3, (1, "bulk"): 9})
    assert validate(frame, RECEIVED, tmp_path).rows() == [(0, "web", 3), (1, "bulk", 9), (1, "web", 5)]
    assert validate(received_frame({}), RECEIVED, tmp_path).height == 0


def test_links_are_told_in_the_seconds_of_the_run(tmp_path):
    table = tmp_path / "links.parquet"
    pl.DataFrame(
        {
            "second": pl.Series([3, 4, 5, 6, 7], dtype=pl.Int32),
            "host": ["relay1"] * 5,
            "sent_packets": [1_000, 110, 310, 610, 1_000],
            "sent_bytes": [52_000, 5_500, 15_500, 30_500, 52_000],
            "received_packets": [1_000, 100, 300, 600, 1_000],
            "late_packets": [900, 0, 300, 0, 900],
        }
    ).write_parquet(table)
    # The link emulator began 4.2 seconds before the run.
    table.with_suffix(".json").write_text(f'{{"started_monotonic_ns": {ZERO - 4_200_000_000}}}')
    links = read_links(table, ZERO, ZERO + 3 * SECOND_NS)
    assert links.frame.select("second", "received_packets").rows() == [(0, 100), (1, 300), (2, 600)]
    assert links.late_share == 0.3
    wire = validate(wire_frame(links), WIRE, tmp_path)
    assert wire.rows() == [(0, 110, 5_500), (1, 310, 15_500), (2, 610, 30_500)]
