"""The pieces of a way: what a byte waited for, where and until when.

In: times at which it passed places, in order, and how packets carried it. Out: :class:`Way`, whose pieces add
up to its time. A time before the one that it follows is taken for that one as long as it is earlier by less
than :data:`SLACK_NS`: two processes record their times one after the other, not at the same moment. A greater
difference is a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torsweep.engines.capsules.cells import Record
from torsweep.engines.capsules.failure import Failure
from torsweep.engines.capsules.packets import Carried

SLACK_NS = 1_000_000
"""Five packets in six are delivered within a tenth of this time after they are due
(bench/results/links.md)."""


@dataclass(frozen=True)
class Piece:
    """What a byte waited for from ``start_ns`` to ``end_ns``."""

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
        """The byte has arrived at ``end_ns``: pieces that were recorded as ending up to the slack later are
        shortened, so that the pieces add up to the time that the download took."""
        if end_ns >= self.now_ns - SLACK_NS:
            self.give_back(end_ns)
        self.until(end_ns, place, host, part)

    def give_back(self, until_ns: int) -> None:
        """End the last pieces at ``until_ns``, before the recorded end: a packet left before the write had
        ended."""
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
    receives_at: str
    receiver: str
    one_way_ns: int


def over_link(way: Way, link: Link, carried: Carried, write_ns: int, waits_for: str = "send_kernel") -> None:
    """Add the way of a byte from its sender's hands to the receiver's kernel.

    ``write_ns`` is how long the write took of which the end is the last time known; ``waits_for`` what it
    waited for until it was first sent. A packet that was sent again takes what lies between as ``recovery``,
    and so does one that waits for bytes before it.
    """
    if carried.first_sent_ns < way.now_ns:
        if carried.first_sent_ns < way.now_ns - write_ns - SLACK_NS:
            raise Failure("out_of_order")
        way.give_back(carried.first_sent_ns)
    way.until(carried.first_sent_ns, link.sends_at, link.sender, waits_for)
    way.until(carried.sent_ns, link.place, link.sender, "recovery")
    way.until(min(carried.sent_ns + link.one_way_ns, carried.done_ns), link.place, link.sender, "propagation")
    way.until(carried.done_ns, link.place, link.sender, "down_queue")
    way.until(carried.readable_ns, link.place, link.sender, "recovery")


def through_relay(way: Way, place: str, host: str, records: dict[str, Record]) -> int:
    """Add the stages of a cell that a relay sent on; how long the write of its last byte took, ns.

    ``records`` are its records by point; without ``inbuf`` it begins here.
    """
    if "inbuf" in records:
        way.until(records["inbuf"]["time_ns"], place, host, "receive_kernel")
        way.until(records["queue"]["time_ns"], place, host, "relaying")
    way.until(records["outbuf"]["time_ns"], place, host, "circuit_queue")
    way.until(records["flush"]["time_ns"], place, host, "outbuf")
    return max(0, records["flush"]["write_ns"])
