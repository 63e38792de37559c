"""Packets, to be found by the bytes in them.

In: the table that linkem leaves of packets (docs/linkem.md), or one read from captures, with times of the
run. Out: :class:`Packets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.engines.capsules.failure import Failure

Direction = tuple[str, int, str, int]
"""Sending host and port, receiving host and port."""

SYN, ACK = 0x02, 0x10


@dataclass(frozen=True)
class Carried:
    """How a byte came: when it was first sent, when sent the time it was delivered, when handed over, and
    when all before it had been, too. Nanoseconds of the run."""

    first_sent_ns: int
    sent_ns: int
    done_ns: int
    readable_ns: int


class Packets:
    """The packets of a run."""

    def __init__(self, packets: pl.DataFrame) -> None:
        keys = ["from_host", "from_port", "to_host", "to_port"]
        self._openings = packets.filter((pl.col("flags") & (SYN | ACK)) == SYN).sort("sent_ns")
        loaded = packets.filter(pl.col("payload_bytes") > 0)
        groups = loaded.partition_by(keys, as_dict=True, include_key=False)
        self._directions: dict[Direction, pl.DataFrame] = {key: own for key, own in groups.items()}
        self._indices: dict[Direction, _Index] = {}

    def carried(self, direction: Direction, end: int) -> Carried:
        """How the byte before ``end`` of ``direction`` came; Failure when no delivered packet has it."""
        return self._index(direction).carried(end)

    def readable_by(self, direction: Direction, time_ns: int) -> int:
        """The position up to which ``direction`` could be read at ``time_ns``; Failure when no packet was
        recorded."""
        return self._index(direction).readable_by(time_ns)

    def _index(self, direction: Direction) -> _Index:
        if direction not in self._indices:
            if direction not in self._directions:
                raise Failure("no_packet")
            self._indices[direction] = _Index(self._directions[direction])
        return self._indices[direction]

    def sent_before(self, direction: Direction, time_ns: int) -> int:
        """The position up to which bytes had been sent in ``direction`` by ``time_ns``; Failure when none
        had."""
        own = self._directions.get(direction)
        sent = own.filter(pl.col("sent_ns") <= time_ns) if own is not None else None
        if sent is None or sent.is_empty():
            raise Failure("no_packet")
        return int((sent["offset"] + sent["payload_bytes"]).to_numpy().max())

    def opened(self, opener: str, other: str, since_ns: int, until_ns: int) -> Direction | None:
        """The one connection that ``opener`` opened to ``other`` in this time; None for none or several."""
        found = self._openings.filter(
            pl.col("from_host") == opener,
            pl.col("to_host") == other,
            pl.col("sent_ns").is_between(since_ns, until_ns),
        ).unique(["from_port", "to_port"])
        if len(found) != 1:
            return None
        row = found.row(0, named=True)
        return (opener, row["from_port"], other, row["to_port"])

    def port_of(self, opener: str, port: int, other: str) -> int:
        """The port that the connection of ``opener`` from ``port`` leads to; Failure when it was not seen."""
        wanted: Mapping[str, object] = {"from_host": opener, "from_port": port, "to_host": other}
        found = self._openings.filter(*(pl.col(name) == value for name, value in wanted.items()))
        if found.is_empty():
            raise Failure("no_packet")
        return int(found["to_port"][0])


class _Index:
    """The packets with payload of one direction."""

    def __init__(self, own: pl.DataFrame) -> None:
        sent = own.sort("sent_ns")
        self._begin, self._end = (
            sent["offset"].to_numpy(),
            (sent["offset"] + sent["payload_bytes"]).to_numpy(),
        )
        self._sent_ns, self._done_ns = sent["sent_ns"].to_numpy(), sent["done_ns"].to_numpy()
        self._delivered = (sent["fate"] == "delivered").to_numpy()
        self._ends, self._readable_ns = self._in_order()

    def _in_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions up to which bytes can be read, and from which time on: a new one whenever a packet closes
        the gap before it."""
        ends, times, readable = [0], [np.iinfo(np.int64).min], 0
        waiting: list[tuple[int, int]] = []
        for place in np.flatnonzero(self._delivered)[
            np.argsort(self._done_ns[self._delivered], kind="stable")
        ]:
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
