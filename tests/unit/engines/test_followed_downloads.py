"""Downloads through real tors: made traces are joined to the nanosecond; what cannot be is counted."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from tests.synthetic_traces import Made, made
from torsweep.engines.breakdown.cells import FAILURES
from torsweep.engines.breakdown.join import join
from torsweep.engines.breakdown.passing import Packets
from torsweep.engines.breakdown.pcap import join_captures
from torsweep.engines.table_schema import BREAKDOWN, validate


def pieces(frame: pl.DataFrame, stream: int, byte: str) -> list[tuple[str, str, int]]:
    return frame.filter(stream=stream, byte=byte).select("place", "part", "duration_ns").rows()


def spent_ns(frame: pl.DataFrame, stream: int, byte: str) -> int:
    return sum(duration for *_, duration in pieces(frame, stream, byte))


def joined(trace: Made) -> tuple[pl.DataFrame, dict[str, int]]:
    """The ways of all downloads of ``trace``, and what was counted."""
    return join(trace.trace(), trace.streams_frame(), 1)


@pytest.mark.parametrize("lost", [False, True])
def test_every_piece_of_a_made_trace_is_found(tmp_path, lost):
    trace = made(3, lost=lost)
    frame, counts = joined(trace)
    validate(frame, BREAKDOWN, tmp_path)
    assert counts == dict.fromkeys(counts, 0) | {"followed": 3, "first_bytes": 3, "whole": 3}
    for (stream, byte), spent in trace.spent.items():
        assert pieces(frame, stream, byte) == [piece for piece in spent if piece[2]]


def test_captures_of_hosts_say_the_same_as_links_that_saw_the_packets():
    trace = made(3, lost=True)
    packets, unused = join_captures(trace.captures())
    assert {unused[reason] for reason in ("unknown_host", "no_opening", "reused", "gap")} == {0}
    assert unused["sent_again"] > 0 == unused["came_again"]
    by_captures = join(replace(trace.trace(), packets=Packets(packets)), trace.streams_frame(), 1)
    by_links = joined(trace)
    assert by_captures[0].equals(by_links[0])
    assert by_captures[1] == by_links[1] and by_captures[1]["whole"] == 3


def test_a_sample_is_chosen_by_name():
    trace = made(12)
    _, counts = join(trace.trace(), trace.streams_frame(), 3)
    assert 0 < counts["followed"] < 12 and counts["whole"] == counts["followed"]


def without(trace: Made, host: str, point: str) -> None:
    trace.cells = [row for row in trace.cells if (row["host"], row["point"]) != (host, point)]


def without_middle(trace: Made) -> None:
    trace.cells = [row for row in trace.cells if row["host"] != "relay2"]


def without_packets(trace: Made) -> None:
    of = ("relay3", "relay2")
    trace.packets = [row for row in trace.packets if (row["from_host"], row["to_host"]) != of]


def never_delivered(trace: Made) -> None:
    for row in trace.packets:
        if (row["from_host"], row["to_host"]) == ("relay2", "relay1"):
            row["fate"] = "lost"


def late_clock(trace: Made) -> None:
    for row in trace.cells:
        if row["host"] == "relay2":
            row["time_ns"] += 50_000_000


def no_answer(trace: Made) -> None:
    trace.cells = [row for row in trace.cells if (row["host"], row["relay_command"]) != ("relay3", 4)]


def two_begins(trace: Made) -> None:
    """The second BEGIN falls into the time of the first download, too."""
    wide = trace.streams[1]["socks_reply_us"] + 10_000_000
    trace.streams = [dict(trace.streams[0], socks_reply_us=wide)]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda trace: without(trace, "relay3", "recognized"), "no_begin"),
        (lambda trace: without(trace, "relay1", "outbuf"), "no_begin"),
        (without_middle, "no_begin"),
        (two_begins, "several_begins"),
        (no_answer, "no_answer"),
        (without_packets, "no_packet"),
        (never_delivered, "no_packet"),
        (late_clock, "out_of_order"),
    ],
)
def test_what_cannot_be_joined_is_counted_with_its_reason(damage, reason):
    trace = made(2)
    damage(trace)
    frame, counts = joined(trace)
    assert frame.is_empty()
    assert counts == dict.fromkeys(counts, 0) | {"followed": len(trace.streams), reason: len(trace.streams)}
    assert reason in FAILURES


def test_a_missing_hop_costs_only_its_own_download():
    trace = made(3)
    inward = [row for row in trace.cells if row["host"] == "relay1" and row["point"] == "flush"]
    answer = next(row for row in inward if not row["outward"] and row["time_ns"] > 15 * 10**9)
    trace.cells.remove(answer)
    _, counts = joined(trace)
    assert (counts["whole"], counts["no_record"]) == (2, 1)


def test_a_server_that_is_not_to_be_told_leaves_one_piece_that_nobody_saw():
    trace = made(1)
    trace.packets = [row for row in trace.packets if row["to_host"] != "server1"]
    frame, counts = joined(trace)
    assert counts["whole"] == 1
    assert [part for _, part, _ in pieces(frame, 1, "first")].count("beyond") == 1
    assert spent_ns(frame, 1, "first") == trace.streams[0]["first_byte_us"] * 1_000


def test_a_download_without_a_byte_is_counted_and_has_no_way():
    trace = made(2)
    trace.streams[1] |= {"first_byte_us": None, "last_byte_us": None, "outcome": "failed"}
    frame, counts = joined(trace)
    assert (counts["whole"], counts["no_byte"]) == (1, 1)
    assert set(frame["stream"]) == {1}


def test_a_write_that_ends_after_its_packet_has_left_is_no_contradiction():
    trace = made(1)
    for row in trace.cells:
        if row["point"] == "flush":
            row["time_ns"] += 200_000
            row["write_ns"] += 200_000
    frame, counts = joined(trace)
    assert counts["whole"] == 1
    assert spent_ns(frame, 1, "last") == trace.streams[0]["last_byte_us"] * 1_000


def test_a_byte_that_was_there_before_its_packet_was_written_down_ends_its_way():
    trace = made(1)
    *_, (_, _, program_ns) = trace.spent[1, "first"]
    trace.streams[0]["first_byte_us"] -= program_ns // 1_000 + 300
    frame, counts = joined(trace)
    assert counts["whole"] == 1
    assert spent_ns(frame, 1, "first") == trace.streams[0]["first_byte_us"] * 1_000
    trace.streams[0]["first_byte_us"] -= 1_000
    assert joined(trace)[1]["out_of_order"] == 1


def test_what_a_server_sends_before_the_answer_is_not_its_first_byte():
    trace = made(3, header_bytes=69)
    frame, counts = join(replace(trace.trace(), before_answer=lambda _: 69), trace.streams_frame(), 1)
    assert counts["whole"] == 3
    for stream in (1, 2, 3):
        found = pieces(frame, stream, "first")
        waited = [duration for place, part, duration in found if (place, part) == ("client", "program")]
        # The rest of it, a few microseconds, is what its program and the rounding to microseconds take.
        assert all(duration < 1_000_000 for duration in waited[1:])
        assert spent_ns(frame, stream, "first") == trace.streams[stream - 1]["first_byte_us"] * 1_000
    # Who takes the header's cell for the first one finds the byte waiting at the client.
    wrong, _ = joined(trace)
    at_client = [duration for place, part, duration in pieces(wrong, 1, "first") if place == "client"]
    assert max(at_client) > 2_000_000


def test_downloads_opened_at_once_are_told_apart_by_their_order():
    trace = made(2)
    for stream in trace.streams:
        end_us = stream["start_us"] + stream["socks_reply_us"]
        stream["socks_reply_us"] = trace.streams[-1]["start_us"] + 10**7 - stream["start_us"]
        assert end_us < stream["start_us"] + stream["socks_reply_us"]
    early = trace.streams[0]["start_us"]
    trace.streams[1]["start_us"] = early
    trace.streams[1]["socks_reply_us"] = trace.streams[0]["socks_reply_us"]
    for byte in ("first_byte_us", "last_byte_us"):
        trace.streams[1][byte] += 10 * 10**6
    frame, counts = joined(trace)
    assert counts["whole"] == 2
    assert pieces(frame, 1, "first") == [piece for piece in trace.spent[1, "first"] if piece[2]]
    assert pieces(frame, 2, "first")[1:] == [piece for piece in trace.spent[2, "first"] if piece[2]][1:]


def test_a_write_that_holds_later_cells_does_not_delay_the_byte():
    trace = made(1)
    for row in trace.cells:
        if (row["host"], row["point"], row["outward"]) == ("relay1", "flush", False):
            # As if all that came later had been written at once.
            row["tcp_offset"] = trace.written["relay1", "client1"]
    frame, counts = joined(trace)
    assert counts["whole"] == 1
    assert pieces(frame, 1, "first") == [piece for piece in trace.spent[1, "first"] if piece[2]]
