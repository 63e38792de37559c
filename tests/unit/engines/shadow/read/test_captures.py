"""Captures that Shadow leaves become packets by the run's time; one that is missing or none is named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from torsweep.engines.breakdown.pcap import join_captures
from torsweep.engines.shadow.read import answer_header_bytes, read_captures
from torsweep.errors import InputError

ADDRESSES = {"11.0.0.1": "web1", "11.0.0.2": "relay1"}
US = 1_000
ZERO_NS = 180 * 10**9
SYN, ACK = 0x02, 0x10


def _segment(number: int, payload: int, flags: int) -> bytes:
    """The headers of a packet from web1 to relay1 with TCP's options, as Shadow writes them down."""
    ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 52 + payload, 0, 0, 64, 6, 0, 11, 0, 0, 1, 11, 0, 0, 2)
    return ip + struct.pack(">HHIIBBHHH", 40_000, 9001, number, 0, 0x80, flags, 0, 0, 0) + bytes(12)


def _capture(packets: list[tuple[int, bytes]]) -> bytes:
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 128, 101)
    for time_ns, packet in packets:
        seconds, rest = divmod(time_ns, 10**9)
        content += struct.pack("<IIII", seconds, rest // US, len(packet), 1_500) + packet
    return content


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    sent = [(0, _segment(1, 0, SYN)), (ZERO_NS + 5 * US, _segment(2, 400, ACK))]
    came = [(9 * US, _segment(1, 0, SYN)), (ZERO_NS + 14 * US, _segment(2, 400, ACK))]
    for host, packets in (("web1", sent), ("relay1", came)):
        (tmp_path / host).mkdir()
        (tmp_path / host / "eth0.pcap").write_bytes(_capture(packets))
    return tmp_path


def test_packets_have_times_of_the_run_and_offsets(hosts: Path) -> None:
    captures, counts = read_captures(hosts, ["web1", "relay1"], ADDRESSES, ZERO_NS)
    assert counts == {"cut_short": 0, "not_tcp": 0}
    frame, unused = join_captures(captures)
    assert unused["packets"] == 1
    assert frame.select("sent_ns", "done_ns", "offset", "payload_bytes").rows() == [
        (-ZERO_NS, 9 * US - ZERO_NS, 0, 0),
        (5 * US, 14 * US, 0, 400),
    ]


def test_a_capture_that_is_cut_short_is_counted_and_one_that_is_none_is_named(hosts: Path) -> None:
    file = hosts / "relay1" / "eth0.pcap"
    file.write_bytes(file.read_bytes()[:-7])
    captures, counts = read_captures(hosts, ["web1", "relay1"], ADDRESSES, ZERO_NS)
    assert counts == {"cut_short": 1, "not_tcp": 0}
    # What its receiver did not write down any more cannot be told from what was lost.
    assert join_captures(captures)[0]["fate"].to_list() == ["delivered", "lost"]
    file.write_bytes(b"")
    with pytest.raises(InputError, match=r"relay1/eth0\.pcap: is no capture"):
        read_captures(hosts, ["web1", "relay1"], ADDRESSES, ZERO_NS)
    file.unlink()
    with pytest.raises(InputError, match=r"relay1/eth0\.pcap: cannot be read"):
        read_captures(hosts, ["web1", "relay1"], ADDRESSES, ZERO_NS)


def test_the_header_of_an_answer_has_the_name_of_its_server() -> None:
    assert (answer_header_bytes("server1"), answer_header_bytes("server10")) == (69, 70)
