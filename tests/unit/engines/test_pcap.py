"""Captures of two hosts become a table of packets; what is damaged is counted or refused."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from torsweep.engines.breakdown.passing import Packets
from torsweep.engines.breakdown.pcap import Captures, captures_of, join_captures, read_pcap
from torsweep.errors import InputError

ADDRESSES = {"11.0.0.1": "client", "11.0.0.2": "server"}
MS = 1_000_000
THERE = ("11.0.0.1", 40_000, "11.0.0.2", 80)
FIRST = 1_000
SYN, ACK, DATA = 0x02, 0x10, 0x18
NONE = dict.fromkeys(
    ("unknown_host", "no_opening", "reused", "gap", "packets", "sent_again", "came_again"), 0
)


def packet(ends: tuple[str, int, str, int], number: int, payload: int, flags: int = DATA) -> bytes:
    octets = [bytes(map(int, address.split("."))) for address in (ends[0], ends[2])]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, 0, 0, 64, 6, 0) + octets[0] + octets[1]
    tcp = struct.pack(">HHIIBBHHH", ends[1], ends[3], number % 2**32, 0, 0x50, flags, 0, 0, 0)
    return ip + tcp + bytes(payload)


def capture(
    packets: Sequence[tuple[int, bytes]], *, order: str = "<", magic: int = 0xA1B23C4D, link: int = 101
) -> bytes:
    unit_ns = 1 if magic == 0xA1B23C4D else 1_000
    content = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, link)
    for time_ns, data in packets:
        seconds, rest = divmod(time_ns, 10**9)
        content += struct.pack(f"{order}IIII", seconds, rest // unit_ns, len(data), len(data)) + data
    return content


def read(folder: Path, **packets: Sequence[tuple[int, bytes]]) -> Captures:
    """The captures of the hosts named."""
    segments = {name: read_pcap(written(folder, name, capture(own)))[0] for name, own in packets.items()}
    return captures_of(segments, ADDRESSES)


def written(folder: Path, name: str, content: bytes) -> Path:
    file = folder / f"{name}.pcap"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B23C4D, 0xA1B2C3D4])
def test_captures_of_both_ends_become_packets(tmp_path: Path, order: str, magic: int) -> None:
    opening, head = packet(THERE, FIRST - 1, 0, SYN), packet(THERE, FIRST, 1_400)
    tail = packet(THERE, FIRST + 1, 600)
    sent = [(1 * MS, opening), (5 * MS, head), (6 * MS, tail), (206 * MS, head)]
    came = [(21 * MS, opening), (26 * MS, tail), (226 * MS, head)]
    captures = {}
    for name, packets in (("client", sent), ("server", came)):
        file = written(tmp_path, name, capture(packets, order=order, magic=magic))
        captures[name], counts = read_pcap(file)
        assert counts == {"cut_short": 0, "not_tcp": 0}
    frame, counts = join_captures(captures_of(captures, ADDRESSES))
    assert counts == NONE | {"packets": 3, "sent_again": 1}
    told = frame.select("sent_ns", "done_ns", "fate", "offset", "payload_bytes").rows()
    assert told == [
        (1 * MS, 21 * MS, "delivered", 0, 0),
        (5 * MS, 5 * MS, "lost", 0, 1_400),
        (6 * MS, 26 * MS, "delivered", 1_400, 600),
        (206 * MS, 226 * MS, "delivered", 0, 1_400),
    ]
    # The tail came in time, and could not be read before the head came again.
    carried = Packets(frame).carried(("client", 40_000, "server", 80), 2_000)
    assert (carried.sent_ns, carried.done_ns, carried.readable_ns) == (6 * MS, 26 * MS, 226 * MS)


def test_ethernet_is_read(tmp_path: Path) -> None:
    frame = bytes(12) + b"\x08\x00" + packet(THERE, FIRST, 10)
    segments, counts = read_pcap(written(tmp_path, "a", capture([(1, frame), (2, bytes(60))], link=1)))
    assert (len(segments), counts["not_tcp"]) == (1, 1)


@pytest.mark.parametrize("cut", [1, 17, 39, 56])
def test_a_capture_that_is_cut_short_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    data = packet(THERE, FIRST, 0)
    whole = capture([(1, data), (2, data), (3, data)])
    segments, counts = read_pcap(written(tmp_path, "cut", whole[:-cut]))
    at_an_end = cut == 16 + len(data)
    assert (len(segments), counts["cut_short"]) == (2, 0 if at_an_end else 1)


def test_what_is_no_capture_or_has_a_clock_that_jumps_is_refused(tmp_path: Path) -> None:
    data = packet(THERE, FIRST, 0)
    jumps = capture([(9 * MS, data), (4 * MS, data)])
    for content, said in (
        (b"", "is no capture"),
        (b"PAR1", "is no capture"),
        (bytes(100), "is no capture"),
        (capture([], link=105), "another kind of link, got 105; accepted: 1, 101 or 228"),
        (jumps, "has a clock that goes back, got '5000000 ns'"),
    ):
        with pytest.raises(InputError, match=said):
            read_pcap(written(tmp_path, "none", content))
    with pytest.raises(InputError, match="cannot be read"):
        read_pcap(tmp_path / "missing.pcap")


def test_connections_that_were_not_seen_to_open_and_strangers_are_counted(tmp_path: Path) -> None:
    stranger = ("11.0.0.9", 1, "11.0.0.2", 80)
    packets = [(1, packet(THERE, FIRST, 10)), (2, packet(stranger, 1, 10))]
    frame, counts = join_captures(read(tmp_path, client=packets, server=[]))
    assert frame.is_empty()
    assert counts == NONE | {"unknown_host": 1, "no_opening": 1}


def test_hosts_without_a_capture_are_strangers(tmp_path: Path) -> None:
    """That nobody saw a packet come does not mean that it was lost."""
    frame, counts = join_captures(read(tmp_path, client=[(1, packet(THERE, FIRST, 0, SYN))]))
    assert (len(frame), counts["unknown_host"]) == (0, 1)


def test_where_packets_are_numbered_their_payload_is_added_up(tmp_path: Path) -> None:
    opening = packet(THERE, 1, 0, SYN)
    data = {number: packet(THERE, number, payload) for number, payload in ((2, 100), (3, 700), (4, 60))}
    alone = packet(THERE, 0, 0, ACK)
    sent = [(1, opening), (2, alone), (3, data[2]), (4, data[3]), (5, data[4]), (205, data[3])]
    came = [(11, opening), (12, alone), (13, data[2]), (15, data[4]), (215, data[3])]
    frame, counts = join_captures(read(tmp_path, client=sent, server=came))
    assert counts == NONE | {"packets": 4, "sent_again": 1}
    told = frame.select("sent_ns", "done_ns", "fate", "offset", "payload_bytes").rows()
    assert told == [
        (1, 11, "delivered", 0, 0),
        (3, 13, "delivered", 0, 100),
        (4, 4, "lost", 100, 700),
        (5, 15, "delivered", 800, 60),
        (205, 215, "delivered", 100, 700),
    ]


def test_after_a_number_that_is_missing_nobody_knows_offsets(tmp_path: Path) -> None:
    opening, head, tail = packet(THERE, 1, 0, SYN), packet(THERE, 2, 100), packet(THERE, 4, 60)
    sent = [(1, opening), (2, head), (4, tail), (204, tail)]
    frame, counts = join_captures(read(tmp_path, client=sent, server=[]))
    assert frame["offset"].to_list() == [0, 0]
    assert counts == NONE | {"gap": 2, "packets": 1}


def test_a_second_connection_between_the_same_ends_is_left_out(tmp_path: Path) -> None:
    opening, head, other = packet(THERE, 1, 0, SYN), packet(THERE, 2, 100), packet(THERE, 2, 30)
    sent = [(1, opening), (2, opening), (3, head), (900, opening), (901, other)]
    frame, counts = join_captures(read(tmp_path, client=sent, server=[]))
    assert frame["payload_bytes"].to_list() == [0, 0, 100]
    assert counts["reused"] == 2


def test_packets_that_come_a_second_time_are_counted(tmp_path: Path) -> None:
    opening, data = packet(THERE, 1, 0, SYN), packet(THERE, 2, 100)
    sent, came = [(1, opening), (3, data), (9, data)], [(2, opening), (8, data), (14, data)]
    _, counts = join_captures(read(tmp_path, client=sent, server=came))
    assert counts == NONE | {"packets": 2, "sent_again": 1, "came_again": 1}
