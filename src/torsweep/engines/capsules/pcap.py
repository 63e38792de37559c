"""Packets as the hosts' own captures have them, for engines whose links write no table.

In: a capture (pcap) of each host's interface, all by one clock, and the hosts' addresses. Out: a table of
packets as linkem's (docs/linkem.md), and how many records could not be used, by reason.

A packet is sent when its sender's capture has it, and handed over when its receiver's has; one that only the
sender has was lost. Of packets that were sent more than once with the same bytes, one that came is the last
that was sent before. A connection whose opening is not in the captures has no offsets, and no rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.errors import InputError

_UNITS_NS = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}
"""Magic numbers, and what a fraction of a second counts (draft-ietf-opsawg-pcap)."""

_LINK_HEADERS = {1: 14, 101: 0, 228: 0}
"""Bytes before the IP packet: Ethernet, raw IP, raw IPv4."""

_IPV4, _TCP, SYN = 0x0800, 6, 0x02

REASONS = {
    "cut_short": "the capture ends within a record",
    "not_tcp": "no TCP over IPv4, or too little of it was captured",
    "unknown_host": "an address of no host",
    "no_opening": "the opening of the connection is not in the captures",
}

PACKETS = {
    **dict.fromkeys(("from_host", "to_host"), pl.String),
    **dict.fromkeys(("from_port", "to_port", "sent_ns", "done_ns"), pl.Int64),
    "fate": pl.String,
    **dict.fromkeys(("offset", "payload_bytes", "flags"), pl.Int64),
}

Ends = tuple[str, int, str, int]
"""Sender's host and port, receiver's host and port."""


@dataclass(frozen=True)
class Segment:
    """A TCP segment in a capture: when, between which ends (addresses and ports), its number and payload."""

    time_ns: int
    ends: Ends
    number: int
    payload_bytes: int
    flags: int


def read_pcap(file: Path) -> tuple[list[Segment], dict[str, int]]:
    """The segments of ``file``, in its order, and how many records it has that are none.

    Raises InputError for a file that is no pcap, is of another kind of link, or whose clock goes back.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    order, unit_ns, before = _read_header(content, file)
    counts = {"cut_short": 0, "not_tcp": 0}
    segments: list[Segment] = []
    record, at, last_ns = struct.Struct(f"{order}IIII"), 24, 0
    while at < len(content):
        end = at + record.size
        seconds, fraction, held, _ = record.unpack_from(content, at) if end <= len(content) else (0, 0, 0, 0)
        if end > len(content) or end + held > len(content):
            counts["cut_short"] += 1
            break
        time_ns = seconds * 1_000_000_000 + fraction * unit_ns
        if time_ns < last_ns:
            raise InputError("has a clock that goes back", file=file, value=f"{last_ns - time_ns} ns")
        last_ns = time_ns
        segment = _segment(content[end : end + held], before, time_ns)
        if segment is None:
            counts["not_tcp"] += 1
        else:
            segments.append(segment)
        at = end + held
    return segments, counts


def _read_header(content: bytes, file: Path) -> tuple[str, int, int]:
    """The order of bytes, the unit of fractions in ns, and how many bytes stand before IP."""
    accepted = "a pcap, as tcpdump and Shadow write it"
    if len(content) < 24:
        raise InputError("is no capture", file=file, value=f"{len(content)} bytes", accepted=accepted)
    for order in "<>":
        magic, _, _, _, _, _, link = struct.unpack_from(f"{order}IHHiIII", content)
        if magic in _UNITS_NS:
            if link & 0xFFFF not in _LINK_HEADERS:
                raise InputError(
                    "is of another kind of link", file=file, value=link, accepted="1, 101 or 228"
                )
            return order, _UNITS_NS[magic], _LINK_HEADERS[link & 0xFFFF]
    raise InputError("is no capture", file=file, value=content[:4].hex(), accepted=accepted)


def _segment(packet: bytes, before: int, time_ns: int) -> Segment | None:
    if before and (len(packet) < before or int.from_bytes(packet[12:14], "big") != _IPV4):
        return None
    packet = packet[before:]
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != _TCP:
        return None
    header = (packet[0] & 0xF) * 4
    total = int.from_bytes(packet[2:4], "big")
    if len(packet) < header + 20:
        return None
    ports = struct.unpack_from(">HH", packet, header)
    (number,) = struct.unpack_from(">I", packet, header + 4)
    payload = total - header - (packet[header + 12] >> 4) * 4
    source, target = (str(IPv4Address(packet[place : place + 4])) for place in (12, 16))
    return Segment(
        time_ns, (source, ports[0], target, ports[1]), number, max(payload, 0), packet[header + 13]
    )


def join_captures(
    captures: Mapping[str, list[Segment]], addresses: Mapping[str, str]
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The table of packets between the hosts of ``captures``, and the counts.

    ``captures`` has the segments of each host's capture, by its name; ``addresses`` hosts by address.
    """
    counts = dict.fromkeys(REASONS, 0)
    sent: dict[tuple[Ends, int, int, int], list[int]] = {}
    came: dict[tuple[Ends, int, int, int], list[int]] = {}
    for host, segments in captures.items():
        for segment in segments:
            ends = segment.ends
            names = addresses.get(ends[0]), addresses.get(ends[2])
            if None in names:
                counts["unknown_host"] += 1
                continue
            key = (ends, segment.number, segment.payload_bytes, segment.flags)
            (sent if names[0] == host else came).setdefault(key, []).append(segment.time_ns)
    firsts = {key[0]: (min(times), key[1]) for key, times in sorted(sent.items()) if key[3] & SYN}
    offsets = _Offsets({ends: number for ends, (_, number) in firsts.items()})
    rows = []
    for key in sorted(sent, key=lambda key: min(sent[key])):
        ends, number, payload_bytes, flags = key
        offset = offsets.of(ends, number, is_syn=bool(flags & SYN))
        if offset is None:
            counts["no_opening"] += len(sent[key])
            continue
        row: dict[str, Any] = {"from_host": addresses[ends[0]], "to_host": addresses[ends[2]]}
        row |= {"from_port": ends[1], "to_port": ends[3], "offset": offset}
        for sent_ns, done_ns in _matched(sent[key], came.get(key, [])):
            fate = "lost" if done_ns is None else "delivered"
            times = {"sent_ns": sent_ns, "done_ns": sent_ns if done_ns is None else done_ns, "fate": fate}
            rows.append({**row, **times, "payload_bytes": payload_bytes, "flags": flags})
    frame = pl.DataFrame(rows, schema=PACKETS)
    return frame.sort("sent_ns", maintain_order=True), counts


def _matched(sent: list[int], came: list[int]) -> Iterator[tuple[int, int | None]]:
    """When each was sent, and when it came: each that came is the last sent before it that is left."""
    done: dict[int, int] = {}
    for done_ns in sorted(came, reverse=True):
        fits = [place for place, sent_ns in enumerate(sent) if sent_ns <= done_ns and place not in done]
        if fits:
            done[fits[-1]] = done_ns
    return ((sent_ns, done.get(place)) for place, sent_ns in enumerate(sent))


class _Offsets:
    """TCP's numbers of 32 bits as offsets from a direction's first byte: those nearest to the last."""

    def __init__(self, openings: Mapping[Ends, int]) -> None:
        self._first = {ends: (number + 1) % 2**32 for ends, number in openings.items()}
        self._last = dict.fromkeys(openings, 0)

    def of(self, ends: Ends, number: int, *, is_syn: bool) -> int | None:
        if ends not in self._first:
            return None
        if is_syn:
            return 0
        here = (number - self._first[ends]) % 2**32
        ahead = (here - self._last[ends] + 2**31) % 2**32 - 2**31
        offset = self._last[ends] + ahead
        self._last[ends] = max(self._last[ends], offset)
        return offset
