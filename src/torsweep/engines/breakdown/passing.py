"""The pieces of a way: what a byte waited for, where and until when.

In: times at which it passed places, in order, and how packets carried it. Out: :class:`Way`, whose pieces add
up to its time. A time up to :data:`SLACK_NS` before the one that it follows is taken for that one, as two
processes record their times one after the other; a greater difference is a contradiction.

Packets are found by the bytes in them, in the table that linkem leaves of packets (docs/linkem.md), or in
one read from captures, with times of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.engines.breakdown.cells import CellRecord, Failure

Direction = tuple[str, int, str, int]
"""Sending host and port, receiving host and port."""

SYN, ACK = 0x02, 0x10


@dataclass(frozen=True)
class Carried:
    """How a byte came: when first sent, when sent the time it was delivered, when handed over, and when all
    before it had been, too."""

    first_sent_ns: int
    sent_ns: int
    done_ns: int
    readable_ns: int


class Packets:
    """The packets of a run, by direction."""

    def __init__(self, packets: pl.DataFrame) -> None:
        keys = ["from_host", "from_port", "to_host", "to_port"]
        self._openings = packets.filter((pl.col("flags") & (SYN | ACK)) == SYN).sort("sent_ns")
        loaded = packets.filter(pl.col("payload_bytes") > 0)
        groups = loaded.partition_by(keys, as_dict=True, include_key=False)
        self._directions: dict[Direction, pl.DataFrame] = {key: group for key, group in groups.items()}
        self._indices: dict[Direction, _Index] = {}

    def carried(self, direction: Direction, end: int) -> Carried:
        """How the byte before ``end`` of ``direction`` came; Failure when no delivered packet has it."""
        return self._index(direction).carried(end)

    def readable_by(self, direction: Direction, time_ns: int) -> int:
        """The position up to which ``direction`` could be read at ``time_ns``; Failure without packets."""
        return self._index(direction).readable_by(time_ns)

    def _index(self, direction: Direction) -> _Index:
        if direction not in self._indices:
            if direction not in self._directions:
                raise Failure("no_packet")
            self._indices[direction] = _Index(self._directions[direction])
        return self._indices[direction]

    def sent_before(self, direction: Direction, time_ns: int) -> int:
        """The position up to which ``direction`` had been sent by ``time_ns``; Failure when none had."""
        packets = self._directions.get(direction)
        sent = packets.filter(pl.col("sent_ns") <= time_ns) if packets is not None else None
        if sent is None or sent.is_empty():
            raise Failure("no_packet")
        return int((sent["offset"] + sent["payload_bytes"]).to_numpy().max())

    def opened(self, opener: str, other: str, since_ns: int, until_ns: int) -> Direction | None:
        """The one connection that ``opener`` opened to ``other`` in this time; None for none or several."""
        in_time = pl.col("sent_ns").is_between(since_ns, until_ns)
        openings = self._openings.filter(in_time, from_host=opener, to_host=other)
        openings = openings.unique(["from_port", "to_port"])
        if len(openings) != 1:
            return None
        row = openings.row(0, named=True)
        return (opener, row["from_port"], other, row["to_port"])

    def port_of(self, opener: str, port: int, other: str) -> int:
        """The port that the connection of ``opener`` from ``port`` leads to; Failure when it was not seen."""
        openings = self._openings.filter(from_host=opener, from_port=port, to_host=other)
        if openings.is_empty():
            raise Failure("no_packet")
        return int(openings["to_port"][0])


class _Index:
    def __init__(self, packets: pl.DataFrame) -> None:
        sent = packets.sort("sent_ns")
        self._begin = sent["offset"].to_numpy()
        self._end = (sent["offset"] + sent["payload_bytes"]).to_numpy()
        self._sent_ns, self._done_ns = sent["sent_ns"].to_numpy(), sent["done_ns"].to_numpy()
        self._delivered = (sent["fate"] == "delivered").to_numpy()
        self._ends, self._readable_ns = self._in_order()

    def _in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions up to which bytes can be read, and from which time on: a new one whenever a packet closes
        the gap before it."""
        ends, times, readable = [0], [np.iinfo(np.int64).min], 0
        waiting: list[tuple[int, int]] = []
        delivered = np.flatnonzero(self._delivered)
        for place in delivered[np.argsort(self._done_ns[delivered], kind="stable")]:
            waiting.append((int(self._begin[place]), int(self._end[place])))
            if waiting[-1][0] > readable:
                continue
            waiting.sort()
            while waiting and waiting[0][0] <= readable:
                readable = max(readable, waiting.pop(0)[1])
            if readable > ends[-1]:
                ends.append(readable)
                times.append(int(self._done_ns[place]))
        return np.array(ends), np.array(times)

    def readable_by(self, time_ns: int) -> int:
        return int(self._ends[int(np.searchsorted(self._readable_ns, time_ns, side="right")) - 1])

    def carried(self, end: int) -> Carried:
        has = (self._begin < end) & (self._end >= end)
        came = np.flatnonzero(has & self._delivered)
        place = int(np.searchsorted(self._ends, end))
        if end <= 0 or not len(came) or place == len(self._ends):
            raise Failure("no_packet")
        chosen = came[np.argmin(self._done_ns[came])]
        return Carried(
            first_sent_ns=int(self._sent_ns[has].min()),
            sent_ns=int(self._sent_ns[chosen]),
            done_ns=int(self._done_ns[chosen]),
            readable_ns=int(self._readable_ns[place]),
        )


SLACK_NS = 1_000_000
"""Five packets in six are delivered within a tenth of this time after they are due
(docs/tables/links.csv)."""


@dataclass(frozen=True)
class Piece:
    """A piece of a byte's time, from ``start_ns`` to ``end_ns``, with what it waited for."""

    leg: str
    place: str
    host: str
    part: str
    start_ns: int
    end_ns: int


@dataclass
class Way:
    """The way to a byte, so far; it begins at ``start_ns``."""

    start_ns: int
    leg: str = "attach"
    pieces: list[Piece] = field(default_factory=list)

    @property
    def now_ns(self) -> int:
        """The time until which the way is known."""
        return self.pieces[-1].end_ns if self.pieces else self.start_ns

    def until(self, end_ns: int, place: str, host: str, part: str) -> None:
        """Add ``part``, which lasts until ``end_ns``; Failure when that is long before now."""
        if end_ns < self.now_ns - SLACK_NS:
            raise Failure("out_of_order")
        self.pieces.append(Piece(self.leg, place, host, part, self.now_ns, max(end_ns, self.now_ns)))

    def ends(self, end_ns: int, place: str, host: str, part: str) -> None:
        """The byte has arrived at ``end_ns``: pieces that end up to the slack later are shortened, so that
        all add up to the time that the download took."""
        if end_ns >= self.now_ns - SLACK_NS:
            self.give_back(end_ns)
        self.until(end_ns, place, host, part)

    def give_back(self, until_ns: int) -> None:
        """End the last pieces at ``until_ns``: a packet left before the write of it had ended."""
        while self.pieces and self.pieces[-1].end_ns > until_ns:
            last = self.pieces.pop()
            if last.start_ns < until_ns:
                self.pieces.append(Piece(last.leg, last.place, last.host, last.part, last.start_ns, until_ns))

    def copy(self) -> Way:
        """A copy, which can be continued in another way."""
        return Way(self.start_ns, self.leg, list(self.pieces))

    def lasting(self) -> Iterator[Piece]:
        """The pieces that take any time, in order."""
        return (piece for piece in self.pieces if piece.end_ns > piece.start_ns)


@dataclass(frozen=True)
class Link:
    """A link between two hosts: what it is called, who sends, how long a packet takes at least."""

    place: str
    sender: str
    sends_at: str
    receiver: str
    one_way_ns: int


def over_link(way: Way, link: Link, carried: Carried, write_ns: int, waits_for: str = "send_kernel") -> None:
    """Add the way of a byte from its sender's hands to the receiver's kernel. ``write_ns`` is how long the
    write took of which the end is the last time known; ``waits_for`` what it waited for until it was first
    sent. Time until it was sent again, or until bytes before it had come, is ``recovery``."""
    if carried.first_sent_ns < way.now_ns:
        if carried.first_sent_ns < way.now_ns - write_ns - SLACK_NS:
            raise Failure("out_of_order")
        way.give_back(carried.first_sent_ns)
    way.until(carried.first_sent_ns, link.sends_at, link.sender, waits_for)
    way.until(carried.sent_ns, link.place, link.sender, "recovery")
    way.until(min(carried.sent_ns + link.one_way_ns, carried.done_ns), link.place, link.sender, "propagation")
    way.until(carried.done_ns, link.place, link.sender, "down_queue")
    way.until(carried.readable_ns, link.place, link.sender, "recovery")


def through_relay(way: Way, place: str, host: str, records: dict[str, CellRecord]) -> int:
    """Add the stages of a cell that a relay sent on, or that began there, without ``inbuf`` among its
    ``records``; how long the write of its last byte took, ns."""
    if "inbuf" in records:
        way.until(records["inbuf"]["time_ns"], place, host, "receive_kernel")
        way.until(records["queue"]["time_ns"], place, host, "relaying")
    way.until(records["outbuf"]["time_ns"], place, host, "circuit_queue")
    way.until(records["flush"]["time_ns"], place, host, "outbuf")
    return max(0, records["flush"]["write_ns"])
