"""Packets as the hosts' own captures have them, for engines whose links write no table.

In: a capture (pcap) of each host's interface, all by one clock, and the hosts' addresses. Out: a table of
packets as linkem's (docs/linkem.md), and how many records could not be used, by reason.

A packet is sent when its sender's capture has it, and handed over when its receiver's has; one that only the
sender has was lost. A connection whose opening is not in the captures has no offsets, and no rows. TCP's
numbers are those of Shadow, in captures as in the simulation (its ``tcp.c``; 3.3.0): each packet with payload
has the number after that of the one before, however long it is.

Reasons are ``cut_short`` (the capture ends within a record), ``not_tcp`` (no TCP over IPv4, or too little of
it was captured), ``unknown_host`` (an address of no host that has a capture), ``no_opening``, ``reused`` (the
connection's ends were those of another one before) and ``gap`` (a packet before it is not in its sender's
capture).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.engines.breakdown.passing import SYN
from torsweep.errors import InputError

_FRACTION_NS = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}
"""Magic numbers, and what a fraction of a second counts (draft-ietf-opsawg-pcap)."""

_LINK_HEADERS = {1: 14, 101: 0, 228: 0}
"""Bytes before the IP packet: Ethernet, raw IP, raw IPv4."""

_FILE_HEADER_BYTES, _RECORD_HEADER_BYTES = 24, 16

_IPV4, _TCP = 0x0800, 6

_SEGMENT_NUMBERS = ("time_ns", "from_port", "to_port", "number", "payload_bytes", "flags")
SEGMENTS = {**dict.fromkeys(("from_ipv4", "to_ipv4"), pl.UInt32), **dict.fromkeys(_SEGMENT_NUMBERS, pl.Int64)}
"""Columns of a capture: a row a TCP segment."""

PACKETS = {
    **dict.fromkeys(("from_host", "to_host"), pl.String),
    **dict.fromkeys(("from_port", "to_port", "sent_ns", "done_ns"), pl.Int64),
    "fate": pl.String,
    **dict.fromkeys(("offset", "payload_bytes", "flags"), pl.Int64),
}

_CONNECTION_ENDS = ["from_host", "from_port", "to_host", "to_port"]
_SAME = [*_CONNECTION_ENDS, "number", "payload_bytes", "flags"]
"""The columns in which a packet equals one that was sent again."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


def read_pcap(file: Path) -> tuple[pl.DataFrame, dict[str, int]]:
    """The TCP segments of ``file``, in order, and the number of its other records; InputError for a file that
    is no pcap, is of another kind of link, or whose clock goes back."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    order, unit_ns, before = _read_header(content, file)
    starts, cut_short = _record_starts(content, order)
    data = np.frombuffer(content, np.uint8)
    time_ns = _number(data, starts, 4, order) * 1_000_000_000 + _number(data, starts + 4, 4, order) * unit_ns
    back = np.flatnonzero(np.diff(time_ns) < 0)
    if len(back):
        gone_ns = int(time_ns[back[0]] - time_ns[back[0] + 1])
        raise InputError("has a clock that goes back", file=file, value=f"{gone_ns} ns")
    held = _number(data, starts + 8, 4, order)
    frame = _segments(data, starts + _RECORD_HEADER_BYTES, held, before, time_ns)
    return frame, {"cut_short": int(cut_short), "not_tcp": len(starts) - len(frame)}


def _read_header(content: bytes, file: Path) -> tuple[str, int, int]:
    """The order of bytes, the unit of fractions in ns, the bytes before IP."""
    for order in "<>" if len(content) >= _FILE_HEADER_BYTES else "":
        magic, _, _, _, _, _, link = struct.unpack_from(f"{order}IHHiIII", content)
        if magic in _FRACTION_NS:
            if link & 0xFFFF not in _LINK_HEADERS:
                raise InputError(
                    "is of another kind of link", file=file, value=link, accepted="1, 101 or 228"
                )
            return order, _FRACTION_NS[magic], _LINK_HEADERS[link & 0xFFFF]
    accepted = "a pcap, as tcpdump and Shadow write it"
    raise InputError("is no capture", file=file, value=content[:4].hex(), accepted=accepted)


def _record_starts(content: bytes, order: str) -> tuple[Ints, bool]:
    """The offsets of whole records, and whether an incomplete one follows."""
    starts, at = [], _FILE_HEADER_BYTES
    length = struct.Struct(f"{order}8xI4x")
    while at + _RECORD_HEADER_BYTES <= len(content):
        end = at + _RECORD_HEADER_BYTES + length.unpack_from(content, at)[0]
        if end > len(content):
            break
        starts.append(at)
        at = end
    return np.array(starts, np.int64), at < len(content)


def _number(data: Bytes, at: Ints, width: int, order: str = ">") -> Ints:
    """The numbers of ``width`` bytes that begin at ``at``."""
    places = range(width) if order == ">" else range(width - 1, -1, -1)
    numbers = np.zeros(len(at), np.int64)
    for place in places:
        numbers = numbers << 8 | data[at + place]
    return numbers


def _segments(data: Bytes, packet: Ints, held: Ints, before: int, time_ns: Ints) -> pl.DataFrame:
    """The TCP segments among the packets of ``held`` bytes that begin at ``packet``."""

    def kept(chosen: NDArray[np.bool_]) -> None:
        nonlocal packet, held, time_ns
        packet, held, time_ns = packet[chosen], held[chosen], time_ns[chosen]

    kept(held >= before + 40)
    if before:
        kept(_number(data, packet + 12, 2) == _IPV4)
    packet, held = packet + before, held - before
    kept((data[packet] >> 4 == 4) & (data[packet + 9] == _TCP))
    header = (data[packet] & 0xF).astype(np.int64) * 4
    enough = held >= header + 20
    header = header[enough]
    kept(enough)
    tcp = packet + header
    tcp_header = (data[tcp + 12] >> 4).astype(np.int64) * 4
    payload = np.maximum(_number(data, packet + 2, 2) - header - tcp_header, 0)
    return pl.DataFrame(
        {
            "from_ipv4": _number(data, packet + 12, 4).astype(np.uint32),
            "to_ipv4": _number(data, packet + 16, 4).astype(np.uint32),
            "time_ns": time_ns,
            "from_port": _number(data, tcp, 2),
            "to_port": _number(data, tcp + 2, 2),
            "number": _number(data, tcp + 4, 4),
            "payload_bytes": payload,
            "flags": data[tcp + 13].astype(np.int64),
        },
        schema=SEGMENTS,
    )


@dataclass(frozen=True)
class Captures:
    """The segments that several hosts captured, with the ends by name: in ``sent`` with the time when the
    sender captured it, in ``came`` when the receiver did; and how many are of an ``unknown_host``."""

    sent: pl.DataFrame
    came: pl.DataFrame
    unknown_host: int


def captures_of(segments: Mapping[str, pl.DataFrame], addresses: Mapping[str, str]) -> Captures:
    """The segments of each host's capture, by its name; ``addresses`` has hosts by address."""
    names = {int(IPv4Address(address)): name for address, name in addresses.items()}
    frames = [frame.with_columns(pl.lit(host).alias("host")) for host, frame in segments.items()]
    every = pl.concat(frames) if frames else pl.DataFrame(schema={**SEGMENTS, "host": pl.String})
    named = every.with_columns(
        pl.col(f"{end}_ipv4").replace_strict(names, default=None, return_dtype=pl.String).alias(f"{end}_host")
        for end in ("from", "to")
    )
    known = named.filter(pl.all_horizontal(pl.col("from_host", "to_host").is_in(list(segments))))
    by_sender = pl.col("from_host") == pl.col("host")
    columns = [*_SAME, "time_ns"]
    return Captures(
        sent=known.filter(by_sender).select(columns),
        came=known.filter(~by_sender).select(columns),
        unknown_host=len(every) - len(known),
    )


def join_captures(captures: Captures) -> tuple[pl.DataFrame, dict[str, int]]:
    """The packets between the hosts of ``captures`` that open connections or have payload; and the counts."""
    sent, counts = _with_offsets(captures.sent)
    frame = _matched(sent, captures.came).with_columns(
        sent_ns="time_ns",
        done_ns=pl.col("done_ns").fill_null(pl.col("time_ns")),
        fate=pl.when(pl.col("done_ns").is_null()).then(pl.lit("lost")).otherwise(pl.lit("delivered")),
    )
    ordered = frame.select(*PACKETS).sort("sent_ns", maintain_order=True).cast(PACKETS)  # type: ignore[arg-type]
    return ordered, {"unknown_host": captures.unknown_host, **counts, **_sent_again(ordered)}


def _sent_again(packets: pl.DataFrame) -> dict[str, int]:
    """How many packets have payload, and how many of them were sent again or came again."""
    same = [*_CONNECTION_ENDS, "offset"]
    copies = (
        packets.filter(pl.col("payload_bytes") > 0)
        .group_by(same)
        .agg(pl.len().alias("sent"), (pl.col("fate") == "delivered").sum().alias("came"))
    )
    return {
        "packets": int(copies["sent"].sum()),
        "sent_again": int((copies["sent"] - 1).sum()),
        "came_again": int((copies["came"].cast(pl.Int64) - 1).clip(0).sum()),
    }


def _with_offsets(sent: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """SYNs, and segments with payload, with the ``offset`` of their first byte in its direction; those with
    none that is known are left out, and counted by reason."""
    syn, loaded = (pl.col("flags") & SYN) > 0, pl.col("payload_bytes") > 0
    ordered = sent.filter(syn | loaded).sort("time_ns", maintain_order=True)
    opened = ordered.with_columns(
        # A SYN takes a number, too: the first byte has the next.
        first=pl.when(syn).then(pl.col("number") + 1).first().over(_CONNECTION_ENDS),
        again=(syn & (loaded.cum_sum().over(_CONNECTION_ENDS) > 0)).cum_max().over(_CONNECTION_ENDS),
    )
    usable = opened.filter(pl.col("first").is_not_null() & ~pl.col("again"))
    offsets = _offsets(usable)
    known = offsets.filter(pl.col("offset").is_not_null())
    counts = {
        "no_opening": opened["first"].null_count(),
        "reused": opened.filter(pl.col("first").is_not_null() & pl.col("again")).height,
        "gap": len(offsets) - len(known),
    }
    return known.drop("first", "again"), counts


def _offsets(usable: pl.DataFrame) -> pl.DataFrame:
    """The payload of all packets with smaller numbers; null from the first number on that is missing."""
    numbered = (
        usable.filter(pl.col("payload_bytes") > 0)
        .unique([*_CONNECTION_ENDS, "number"], keep="first")
        .sort(*_CONNECTION_ENDS, "number")
        .with_columns(place=pl.int_range(pl.len()).over(_CONNECTION_ENDS))
    )
    before = pl.col("payload_bytes").cum_sum().over(_CONNECTION_ENDS) - pl.col("payload_bytes")
    whole = pl.col("number") == pl.col("first") + pl.col("place")
    offsets = numbered.select(*_CONNECTION_ENDS, "number", offset=pl.when(whole).then(before))
    joined = usable.join(offsets, on=[*_CONNECTION_ENDS, "number"], how="left", maintain_order="left")
    opening = pl.col("payload_bytes") == 0
    return joined.with_columns(offset=pl.when(opening).then(0).otherwise("offset"))


def _matched(sent: pl.DataFrame, came: pl.DataFrame) -> pl.DataFrame:
    """``sent`` with ``done_ns``, when each packet arrived: of packets with the same bytes, an arrival belongs
    to the last one sent before it that has no arrival yet."""
    times = came.group_by(_SAME).agg(pl.col("time_ns").sort().alias("came_ns"))
    every = sent.with_columns(pl.len().over(_SAME).alias("copies")).join(
        times, on=_SAME, how="left", maintain_order="left"
    )
    # Most packets are sent once and come once, which leaves nothing to choose.
    once = (pl.col("copies") == 1) & (pl.col("came_ns").list.len().fill_null(0) <= 1)
    alone = every.filter(once).with_columns(done_ns=pl.col("came_ns").list.first())
    rest = every.filter(~once).sort("time_ns", maintain_order=True)
    chosen = [
        group.with_columns(
            done_ns=pl.Series(_chosen(group["time_ns"].to_list(), group["came_ns"][0]), dtype=pl.Int64)
        )
        for group in rest.partition_by(_SAME, maintain_order=True)
    ]
    return pl.concat([alone, *chosen]).drop("copies", "came_ns")


def _chosen(sent: list[int], came: pl.Series | None) -> list[int | None]:
    done: dict[int, int] = {}
    for done_ns in sorted(came.to_list(), reverse=True) if came is not None else ():
        fits = [place for place, sent_ns in enumerate(sent) if sent_ns <= done_ns and place not in done]
        if fits:
            done[fits[-1]] = done_ns
    return [done.get(place) for place in range(len(sent))]
