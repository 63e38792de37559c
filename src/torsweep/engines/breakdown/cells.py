"""The records of cells of one or more relays, to be found by number or by byte offset.

In: the ``cells`` table of a run, and the channels of the rings. Out: :class:`Cells`. A cell has a number in
each relay; from one relay to the next it is followed by its end on their connection, in bytes before
encryption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from torsweep.config.tracing import POINTS, Point

FAILURES: Mapping[str, str] = {
    "no_begin": "the exit saw no BEGIN that fits",
    "several_begins": "more than one BEGIN fits",
    "no_answer": "CONNECTED, the request or an answer is not among the cells of the exit",
    "untraced_host": "a relay on the way is not traced",
    "no_channel": "a channel is not in the list, or more than one fits",
    "no_record": "a cell lacks a record at a place on its way",
    "no_packet": "no packet that was delivered has the bytes of the cell",
    "out_of_order": "times contradict each other by more than a clock may",
}


class Failure(Exception):
    """A download cannot be followed; its argument is one of :data:`FAILURES`."""


NONE = -1
"""Stands for a value that a record does not have."""

_RECORD_COLUMNS = (
    "time_ns",
    "cell",
    "channel",
    "circuit",
    "relay_command",
    "stream",
    "write_ns",
    "tls_offset",
    "tcp_offset",
)

_OFFSET_KEY = np.dtype([("channel", "i8"), ("tls_offset", "i8")])

CellRecord = Mapping[str, int]
"""The numbers of a row of the ``cells`` table, by column."""


@dataclass(frozen=True)
class ChannelConnection:
    """A TCP connection: the host and port that opened it, and the other host."""

    opener: str
    port: int
    other: str


class Cells:
    """The records of all traced relays, from ``cells`` and ``channels``; ``names`` are hosts by address."""

    def __init__(self, cells: pl.DataFrame, channels: pl.DataFrame, names: Mapping[str, str]) -> None:
        self.hosts = tuple(sorted(map(str, cells["host"].unique().to_list())))
        self._tables = {
            (host, point): _PointRecords(host_cells.filter(pl.col("point") == point))
            for host in self.hosts
            for host_cells in [cells.filter(pl.col("host").cast(pl.String) == host)]
            for point in POINTS
        }
        known = channels.with_columns(
            pl.col("remote_address")
            .replace_strict(names, default=None, return_dtype=pl.String)
            .alias("other")
        )
        self._channels = {(row["host"], row["channel"]): row for row in known.iter_rows(named=True)}
        self._between: dict[tuple[str, str], list[int]] = {}
        for (host, channel), row in self._channels.items():
            self._between.setdefault((host, row["other"]), []).append(channel)

    def record(self, host: str, point: Point, cell: int) -> CellRecord:
        """The record of ``cell`` at ``point`` of ``host``; Failure when there is none."""
        if (host, point) not in self._tables:
            raise Failure("no_record")
        return self._tables[host, point].of_cell(cell)

    def of_command(self, host: str, point: Point, relay_command: int) -> pl.DataFrame:
        """The records at ``point`` of cells of ``relay_command`` that begin or end at ``host``, by time."""
        return self._tables[host, point].of_command(relay_command)

    def other(self, host: str, channel: int) -> str:
        """The host at the other end of ``channel``; Failure when it is not known."""
        row = self._channels.get((host, channel))
        if row is None or row["other"] is None:
            raise Failure("no_channel")
        return str(row["other"])

    def connection(self, host: str, channel: int) -> ChannelConnection:
        """The connection under ``channel`` of ``host``."""
        # A relay records the port that the directory gives for another relay, not that of the connection; the
        # side that opened the connection knows its own port.
        row = self._channels[host, channel]
        other = self.other(host, channel)
        if row["is_outgoing"]:
            return ChannelConnection(host, row["local_port"], other)
        if other not in self.hosts:
            return ChannelConnection(other, row["remote_port"], host)
        return ChannelConnection(other, self._channels[other, self._peer(host, channel)]["local_port"], host)

    def next_cell(self, host: str, sent: CellRecord) -> tuple[str, CellRecord]:
        """The host that read the cell ``sent`` (a flush of ``host``), and its inbuf there."""
        other = self.other(host, sent["channel"])
        peer = self._peer(host, sent["channel"])
        return other, self._tables[other, "inbuf"].at_offset(peer, sent["tls_offset"])

    def last_cell(self, host: str, read: CellRecord) -> tuple[str, CellRecord]:
        """The host that sent the cell ``read`` (an inbuf of ``host``), and its flush there."""
        other = self.other(host, read["channel"])
        peer = self._peer(host, read["channel"])
        return other, self._tables[other, "flush"].at_offset(peer, read["tls_offset"])

    def _peer(self, host: str, channel: int) -> int:
        """The number that the other end has for ``channel`` of ``host``."""
        other, channel_row = self.other(host, channel), self._channels[host, channel]
        if other not in self.hosts:
            raise Failure("untraced_host")
        rows = {number: self._channels[other, number] for number in self._between.get((other, host), ())}
        numbers = [n for n, row in rows.items() if row["is_outgoing"] != channel_row["is_outgoing"]]
        ports = (channel_row["local_port"], channel_row["remote_port"])
        same = [n for n in numbers if (rows[n]["remote_port"], rows[n]["local_port"]) == ports]
        chosen = same or numbers
        if len(chosen) != 1:
            raise Failure("no_channel")
        return chosen[0]


class _PointRecords:
    def __init__(self, records: pl.DataFrame) -> None:
        self._frame = records.select(pl.col(_RECORD_COLUMNS).fill_null(NONE).cast(pl.Int64)).sort("cell")
        self._cells = self._frame["cell"].to_numpy()
        self._by_offset = self._frame.with_row_index("row").sort("channel", "tls_offset")
        self._keys = np.zeros(len(records), _OFFSET_KEY)
        for name in ("channel", "tls_offset"):
            self._keys[name] = self._by_offset[name].to_numpy()

    def of_cell(self, cell: int) -> CellRecord:
        place = int(np.searchsorted(self._cells, cell))
        if place == len(self._cells) or self._cells[place] != cell:
            raise Failure("no_record")
        return self._frame.row(place, named=True)

    def at_offset(self, channel: int, offset: int) -> CellRecord:
        key = np.array((channel, offset), dtype=_OFFSET_KEY)
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            raise Failure("no_record")
        return self._frame.row(int(self._by_offset["row"][place]), named=True)

    def of_command(self, relay_command: int) -> pl.DataFrame:
        return self._frame.filter(pl.col("relay_command") == relay_command).sort("time_ns", "cell")
