"""A made trace of downloads through a chain of real tors: cells, channels and packets, and where the time
went.

In: how many downloads. Out: :class:`Made`. Every wait is a different number of nanoseconds, so that a piece
that is taken for another shows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from torsweep.engines.breakdown.cells import Cells
from torsweep.engines.breakdown.join import BEGIN, CONNECTED, DATA, Trace
from torsweep.engines.breakdown.passing import Packets
from torsweep.engines.breakdown.pcap import Captures
from torsweep.engines.table_schema import CELLS, STREAMS

HOSTS = ("client1", "relay1", "relay2", "relay3", "server1")
ADDRESSES = {f"11.0.0.{place}": host for place, host in enumerate(HOSTS, 1)}
PORTS = {("client1", "relay1"): 40001, ("relay1", "relay2"): 40002, ("relay2", "relay3"): 40003}
CELL_BYTES, RECORD_BYTES, HANDSHAKE_BYTES, ANSWER_BYTES = 514, 543, 3_000, 996
ONE_WAY_NS = 20_000_000
SECOND_NS = 1_000_000_000

Spent = list[tuple[str, str, int]]
"""Place, part and duration of each piece of a way, in order."""


@dataclass
class Way:
    """The pieces of a way so far, and when the last one ended."""

    now: int
    spent: Spent = field(default_factory=list)

    def add(self, place: str, part: str, duration_ns: int) -> None:
        """The next piece."""
        self.spent.append((place, part, duration_ns))
        self.now += duration_ns


def one_way_ns(sender: str, receiver: str) -> int:
    """The same between any two hosts."""
    return ONE_WAY_NS if sender != receiver else 0


@dataclass
class Made:
    """What hosts recorded, and ``spent``: the pieces of the way to each byte, by download and byte."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    packets: list[dict[str, Any]] = field(default_factory=list)
    streams: list[dict[str, Any]] = field(default_factory=list)
    spent: dict[tuple[int, str], Spent] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    written: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    steps: int = 0

    def wait(self) -> int:
        """A number of nanoseconds that no other wait has."""
        self.steps += 1
        return 1_000 + 37 * self.steps

    def trace(self) -> Trace:
        """As the join takes it."""
        return Trace(
            Cells(self.cells_frame(), channels(), ADDRESSES),
            Packets(pl.DataFrame(self.packets, infer_schema_length=None)),
            one_way_ns,
        )

    def cells_frame(self) -> pl.DataFrame:
        """The ``cells`` table."""
        return pl.DataFrame(self.cells, schema=CELLS.polars)

    def captures(self) -> Captures:
        """The packets as both ends captured them."""
        columns = ["from_host", "from_port", "to_host", "to_port", "number", "payload_bytes", "flags"]
        # As by Shadow's TCP, each packet with payload has the number after that of the one before.
        loaded = pl.when(pl.col("payload_bytes") > 0).then("offset")
        number = loaded.rank("dense").over(columns[:4]).cast(pl.Int64).fill_null(0)
        numbered = pl.DataFrame(self.packets, infer_schema_length=None).with_columns(number=number)
        came = numbered.filter(pl.col("fate") == "delivered").select(*columns, time_ns="done_ns")
        return Captures(numbered.select(*columns, time_ns="sent_ns"), came, 0)

    def streams_frame(self) -> pl.DataFrame:
        """The ``streams`` table."""
        return pl.DataFrame(self.streams, schema=STREAMS.polars)

    def packet(
        self, way: Way, ends: tuple[str, str], ports: tuple[int, int], size: int, *, lost: bool = False
    ) -> None:
        """Send ``size`` bytes from one host to the other; at the second attempt if ``lost``."""
        offset = self.written[ends]
        self.written[ends] += size
        row = {"from_host": ends[0], "to_host": ends[1], "from_port": ports[0], "to_port": ports[1]}
        row |= {"flags": 0x18, "offset": offset, "payload_bytes": size}
        link = "-".join(sorted((ROLES[ends[0]], ROLES[ends[1]]), key=list(ROLES.values()).index))
        if lost:
            again = 200_000_000 + self.wait()
            self.packets.append(row | {"sent_ns": way.now, "done_ns": way.now + 5_000, "fate": "dropped"})
            way.add(link, "recovery", again)
        queued, sent_ns = self.wait(), way.now
        way.add(link, "propagation", ONE_WAY_NS)
        way.add(link, "down_queue", queued)
        self.packets.append(row | {"sent_ns": sent_ns, "done_ns": way.now, "fate": "delivered"})

    def record(self, host: str, point: str, time_ns: int, **of: Any) -> None:
        """Write one record of a cell down."""
        row = dict.fromkeys(CELLS.polars) | {"host": host, "point": point, "time_ns": time_ns, "circuit": 7}
        self.cells.append(row | {"command": 3} | of)

    def cell(
        self,
        way: Way,
        path: tuple[str, ...],
        command: int,
        stream: int,
        hold: str = "send_kernel",
        lost: bool = False,
    ) -> None:
        """A cell along ``path``, which its first host begins to send for the reason ``hold``."""
        if path[0] != "client1":
            self._begin(way, path[0], command, stream)
            self._leave(way, path[0], path[1])
        for place, (here, there) in enumerate(pairwise(path)):
            way.add(ROLES[here], hold if place == 0 else "send_kernel", self.wait())
            ports = (PORTS[here, there], 9001) if (here, there) in PORTS else (9001, PORTS[there, here])
            self.packet(way, (here, there), ports, RECORD_BYTES, lost=lost and place == 1)
            if there == "client1":
                return
            self._arrive(way, there, here, command, stream, last=there == path[-1])
            if there != path[-1]:
                self._leave(way, there, path[place + 2])

    def _tls(self, ends: tuple[str, str]) -> int:
        return 1_000 + CELL_BYTES * ((self.written[ends] - HANDSHAKE_BYTES) // RECORD_BYTES)

    def _begin(self, way: Way, host: str, command: int, stream: int) -> None:
        self.numbers[host] += 1
        of = {"cell": self.numbers[host], "channel": 1, "outward": False, "relay_command": command}
        self.record(host, "queue", way.now, queue_cells=0, stream=stream, **of)

    def _arrive(self, way: Way, host: str, sender: str, command: int, stream: int, *, last: bool) -> None:
        self.numbers[host] += 1
        number, role, ends = self.numbers[host], ROLES[host], (sender, host)
        inward = HOSTS.index(sender) > HOSTS.index(host)
        offsets = {"tls_offset": self._tls(ends), "tcp_offset": self.written[ends]}
        way.add(role, "receive_kernel", self.wait())
        self.record(host, "inbuf", way.now, cell=number, channel=2 if inward else 1, **offsets)
        way.add(role, "relaying", self.wait())
        if last:
            told = {"relay_command": command, "stream": stream, "outward": True}
            self.record(host, "recognized", way.now, cell=number, channel=2 if inward else 1, **told)
        else:
            out = {"cell": number, "channel": 1 if inward else 2, "outward": not inward}
            self.record(host, "queue", way.now, queue_cells=0, **out)

    def _leave(self, way: Way, host: str, receiver: str) -> None:
        outward, ends = HOSTS.index(receiver) > HOSTS.index(host), (host, receiver)
        of = {"cell": self.numbers[host], "channel": 2 if outward else 1, "outward": outward}
        after = self.written[ends] + RECORD_BYTES
        tls = self._tls(ends) + CELL_BYTES
        way.add(ROLES[host], "circuit_queue", self.wait())
        self.record(host, "outbuf", way.now, queue_cells=0, tls_offset=tls, **of)
        way.add(ROLES[host], "outbuf", self.wait())
        self.record(host, "flush", way.now, write_ns=500, tls_offset=tls, tcp_offset=after, **of)


ROLES = dict(zip(HOSTS, ("client", "guard", "middle", "exit", "server"), strict=True))
UP, DOWN = HOSTS[:4], HOSTS[3::-1]


def made(downloads: int = 3, *, lost: bool = False, header_bytes: int = 0) -> Made:
    """Downloads of two cells, ten seconds apart; with ``lost``, one packet of each answer is sent twice.

    A server sends ``header_bytes`` before its answer, if any, which the exit sends on in a cell of their own.
    """
    trace = Made()
    for ends, port in PORTS.items():
        for both, ports in ((ends, (port, 9001)), (ends[::-1], (9001, port))):
            opening = {"from_port": ports[0], "to_port": ports[1], "offset": 0}
            opening |= {"sent_ns": 0, "done_ns": ONE_WAY_NS}
            syn = {"flags": 0x02 if both == ends else 0x12, "payload_bytes": 0, "fate": "delivered"}
            trace.packets.append({"from_host": both[0], "to_host": both[1], **opening, **syn})
            trace.packet(Way(0), both, ports, HANDSHAKE_BYTES)
    for number in range(downloads):
        _download(trace, number, (10 * number + 5) * SECOND_NS, lost, header_bytes)
    return trace


def _download(trace: Made, number: int, start: int, lost: bool, header_bytes: int) -> None:
    stream, port, way = 100 + number, 50_000 + number, Way(start)
    trace.cell(way, UP, BEGIN, stream, "circuit")
    connect = 2 * ONE_WAY_NS + trace.wait()
    syn = {"payload_bytes": 0, "offset": 0, "fate": "delivered"}
    there = {"from_host": "relay3", "to_host": "server1", "from_port": port, "to_port": 80, "flags": 0x02}
    back = {"from_host": "server1", "to_host": "relay3", "from_port": 80, "to_port": port, "flags": 0x12}
    for trip, opening in enumerate((there, back)):
        sent_ns = way.now + 10 + trip * ONE_WAY_NS
        trace.packets.append({**opening, **syn, "sent_ns": sent_ns, "done_ns": sent_ns + ONE_WAY_NS})
    way.add("exit-server", "connect", connect)
    trace.cell(way, DOWN, CONNECTED, stream)
    connected_us = -(-(way.now - start) // 1_000)
    trace.cell(way, UP, DATA, stream, "program")
    trace.written["relay3", "server1"] = trace.written["server1", "relay3"] = 0
    way.add("exit", "send_kernel", trace.wait())
    trace.packet(way, ("relay3", "server1"), (port, 80), 400)
    if header_bytes:
        header = Way(way.now)
        trace.packet(header, ("server1", "relay3"), (80, port), header_bytes)
        trace.cell(Way(header.now + trace.wait()), DOWN, DATA, stream)
        way.add("server", "program", 3_000_000)
    row = dict.fromkeys(STREAMS.polars) | {"client": "client1", "kind": "web", "stream": number + 1}
    for byte in ("first", "last"):
        answer = Way(way.now, [*way.spent])
        answer.add("server", "program", trace.wait() + (0 if byte == "first" else 5_000_000))
        trace.packet(answer, ("server1", "relay3"), (80, port), ANSWER_BYTES // 2)
        answer.add("exit", "window", trace.wait())
        trace.cell(answer, DOWN, DATA, stream, lost=lost)
        whole_us = -(-(answer.now - start) // 1_000) + 3
        answer.add("client", "program", start + whole_us * 1_000 - answer.now)
        trace.spent[number + 1, byte] = answer.spent
        row[f"{byte}_byte_us"] = whole_us
    row |= {"circuit": 1, "server": "server1", "start_us": start // 1_000, "socks_reply_us": connected_us}
    row |= {"observed_us": row["last_byte_us"], "bytes_wanted": ANSWER_BYTES, "bytes_got": ANSWER_BYTES}
    trace.streams.append(row | {"outcome": "complete"})


def channels() -> pl.DataFrame:
    """The lists of channels: a relay takes another one's port for that of the directory."""
    rows = []
    for (opener, other), port in PORTS.items():
        local, remote = (next(a for a, host in ADDRESSES.items() if host == name) for name in (opener, other))
        if opener != "client1":
            rows.append(_channel(opener, 2, (local, port), (remote, 9001), is_outgoing=True))
        shown = port if opener == "client1" else 9001
        rows.append(_channel(other, 1, (remote, 9001), (local, shown), is_outgoing=False))
    return pl.DataFrame(rows)


def _channel(
    host: str, number: int, local: tuple[str, int], remote: tuple[str, int], *, is_outgoing: bool
) -> dict[str, Any]:
    row = {"host": host, "channel": number, "seen_ns": 0, "is_outgoing": is_outgoing}
    row |= {"local_address": local[0], "local_port": local[1]}
    return row | {"remote_address": remote[0], "remote_port": remote[1]}
