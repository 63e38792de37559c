"""Captures that Shadow leaves become packets by the run's time; one that is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engines.test_pcap import ACK, SYN, capture, packet
from torsweep.engines.breakdown.pcap import join_captures
from torsweep.engines.shadow.read import answer_header_bytes, read_captures
from torsweep.errors import InputError

ADDRESSES = {"11.0.0.1": "web1", "11.0.0.2": "relay1"}
THERE = ("11.0.0.1", 40_000, "11.0.0.2", 9001)
US = 1_000
ZERO_NS = 180 * 10**9


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    opening, data = packet(THERE, 1, 0, SYN), packet(THERE, 2, 400, ACK)
    sent = [(0, opening), (ZERO_NS + 5 * US, data)]
    came = [(9 * US, opening), (ZERO_NS + 14 * US, data)]
    for host, packets in (("web1", sent), ("relay1", came)):
        (tmp_path / host).mkdir()
        (tmp_path / host / "eth0.pcap").write_bytes(capture(packets, magic=0xA1B2C3D4))
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


def test_a_capture_that_is_missing_is_named(hosts: Path) -> None:
    (hosts / "relay1" / "eth0.pcap").unlink()
    with pytest.raises(InputError, match=r"relay1/eth0\.pcap: cannot be read"):
        read_captures(hosts, ["web1", "relay1"], ADDRESSES, ZERO_NS)


def test_the_header_of_an_answer_has_the_name_of_its_server() -> None:
    assert (answer_header_bytes("server1"), answer_header_bytes("server10")) == (69, 70)
