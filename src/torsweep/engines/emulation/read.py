"""The tables of a run in real time.

In: the downloads and circuits of the clients, what the relays' meters and linkem saw, the moment that counts
as 0. Out: frames as in :mod:`torsweep.engines.table_schema`; bytes in tor's output buffers are null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.conflux import CIRCUIT_KEYWORDS
from torsweep.engines.emulation.control import CircuitSeen
from torsweep.engines.emulation.downloads import Download
from torsweep.engines.table_schema import CIRCUITS, PROGRESS, RECEIVED, RELAYS, STREAMS, WIRE, TableSchema
from torsweep.units import SECOND_NS


@dataclass(frozen=True)
class Links:
    """The table, and the link emulator's summary of its whole life."""

    frame: pl.DataFrame
    summary: dict

    @property
    def late_share(self) -> float:
        """The share of packets that were handed over more than a millisecond after their time."""
        packets = int(self.frame["received_packets"].sum())
        late = int(self.frame["late_packets"].sum())
        return late / packets if packets else 0.0


def read_links(table: Path, zero_ns: int, end_ns: int) -> Links:
    """The links from ``zero_ns`` to ``end_ns`` of the monotonic clock."""
    summary = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    ahead = round((zero_ns - summary["started_monotonic_ns"]) / SECOND_NS)
    last = -((zero_ns - end_ns) // SECOND_NS)
    second = pl.col("second") - ahead
    frame = pl.read_parquet(table).with_columns(second.alias("second"))
    return Links(frame.filter(pl.col("second").is_between(0, last - 1)).sort("second", "host"), summary)


def read_packets(table: Path, summary: Path, zero_ns: int) -> pl.DataFrame:
    """The packets in ``table``, which counts from the start that ``summary`` tells, with times of the run."""
    ahead_ns = json.loads(summary.read_text(encoding="utf-8"))["started_monotonic_ns"] - zero_ns
    return pl.read_parquet(table).with_columns(pl.col("sent_ns", "done_ns") + ahead_ns)


RelaySecond = tuple[int, int, int, int]
"""Monotonic time in ns at the end of a relay's second, bytes read, bytes written, CPU time so far in ns."""


def streams_frame(downloads: Sequence[Download], zero_ns: int) -> pl.DataFrame:
    """The table of downloads, by client and number."""
    rows = []
    for download in _sorted(downloads):

        def since_start(moment_ns: int | None, start_ns: int = download.start_ns) -> int | None:
            return None if moment_ns is None else (moment_ns - start_ns) // 1000

        command = since_start(download.command_ns)
        first, last = since_start(download.first_byte_ns), since_start(download.last_byte_ns)
        rows.append(
            {
                "client": download.client.name,
                "kind": download.client.kind,
                "circuit": download.circuit,
                "stream": download.number,
                "server": download.server.name,
                "start_us": (download.start_ns - zero_ns) // 1000,
                "socks_reply_us": since_start(download.socks_reply_ns),
                "command_us": command,
                "first_byte_us": first,
                "half_us": since_start(download.half_ns),
                "most_us": since_start(download.most_ns),
                "last_byte_us": last,
                "latest_byte_us": since_start(download.latest_byte_ns),
                "first_byte_after_command_us": None if first is None or command is None else first - command,
                "last_byte_after_command_us": None if last is None or command is None else last - command,
                "observed_us": since_start(download.end_ns),
                "bytes_wanted": download.size,
                "bytes_got": download.got,
                "outcome": download.outcome,
                "error": download.error,
            }
        )
    return _frame(rows, STREAMS)


def received_frame(received: Mapping[tuple[int, str], int]) -> pl.DataFrame:
    """The payload bytes ``received`` by second and kind, in this order."""
    rows = [(second, kind, size) for (second, kind), size in sorted(received.items())]
    return pl.DataFrame(rows, schema=RECEIVED.polars, orient="row")


def wire_frame(links: Links) -> pl.DataFrame:
    """Packets and bytes that all hosts sent, by second."""
    sums = {"packets": pl.col("sent_packets").sum(), "bytes": pl.col("sent_bytes").sum()}
    return links.frame.group_by("second", maintain_order=True).agg(**sums).select(list(WIRE.polars))


def progress_frame(downloads: Sequence[Download], zero_ns: int) -> pl.DataFrame:
    """Bytes of each download against time."""
    rows = [
        {
            "client": download.client.name,
            "stream": download.number,
            "time_us": (moment_ns - zero_ns) // 1000,
            "bytes_got": got,
        }
        for download in _sorted(downloads)
        for moment_ns, got in download.progress
    ]
    return _frame(rows, PROGRESS)


def circuits_frame(
    circuits: Mapping[str, Sequence[CircuitSeen]], downloads: Sequence[Download], zero_ns: int
) -> pl.DataFrame:
    """A row for each circuit that a client had open at ``zero_ns`` or later, by client and number.

    A circuit launched or built before anybody listened has no time of that.
    """

    def since_zero(moment_ns: int | None) -> int | None:
        return (moment_ns - zero_ns) // 1000 if moment_ns else None

    carried: dict[tuple[str, int], int] = {}
    for download in downloads:
        if download.circuit is not None:
            key = (download.client.name, download.circuit)
            carried[key] = carried.get(key, 0) + 1
    rows = [
        {
            "client": client,
            "circuit": seen.number,
            "purpose": seen.purpose,
            "launched_us": since_zero(seen.launched_ns),
            "built_us": since_zero(seen.built_ns),
            "first_use_us": since_zero(seen.first_use_ns),
            "closed_us": since_zero(seen.closed_ns),
            "close_reason": seen.close_reason,
            "path": seen.path,
            "streams": carried.get((client, seen.number), 0),
            "bytes_read": seen.bytes_read,
            **{column: _value(column, seen.conflux.get(column)) for column in CIRCUIT_KEYWORDS},
        }
        for client, all_seen in circuits.items()
        for seen in sorted(all_seen, key=lambda one: one.number)
        if seen.closed_ns is None or seen.closed_ns >= zero_ns
    ]
    return _frame(rows, CIRCUITS)


def _value(column: str, text: str | None) -> str | int | None:
    """``text`` as the type of this column of the circuits table."""
    return int(text) if text is not None and CIRCUITS.polars[column] == pl.Int64 else text


def relays_frame(
    samples: Mapping[str, Sequence[RelaySecond]],
    queued: Mapping[str, Sequence[tuple[int, int]]],
    zero_ns: int,
    end_ns: int,
) -> pl.DataFrame:
    """A row for each relay and whole second from ``zero_ns`` to ``end_ns``.

    A relay counts by seconds of its own; each is assigned to the table's second in which most of it lies, one
    after the other. A second for which the relay reported nothing has no row. ``queued`` holds (monotonic
    time ns, cells) for each time that it was asked; a second takes what was said at its end, ± 0.5 s.
    """
    rows: list[dict[str, Any]] = []
    for relay, seconds in samples.items():
        cells = {
            round((moment_ns - zero_ns) / SECOND_NS) - 1: count for moment_ns, count in queued.get(relay, ())
        }
        by_second = _by_second(seconds, zero_ns)
        rows += [
            {
                "second": second,
                "relay": relay,
                "bytes_in": read,
                "bytes_out": written,
                "queued_cells": cells.get(second),
                "queued_cells_max": None,
                "outbuf_bytes": None,
                "cpu_us": cpu_us,
            }
            for second, (read, written, cpu_us) in by_second.items()
            if 0 <= second < -((zero_ns - end_ns) // SECOND_NS)
        ]
    return _frame(rows, RELAYS).sort("second", maintain_order=True)


def _by_second(samples: Sequence[RelaySecond], zero_ns: int) -> dict[int, list[int]]:
    """Bytes read, bytes written and CPU time in µs by second, where the relay reported any."""
    by_second: dict[int, list[int]] = {}
    last_second: int | None = None
    last_cpu_ns: int | None = None
    for moment_ns, read, written, cpu_ns in samples:
        second = _booked(moment_ns - zero_ns, last_second)
        cpu_us = 0 if last_cpu_ns is None else (cpu_ns - last_cpu_ns) // 1000
        last_second, last_cpu_ns = second, cpu_ns
        booked = by_second.setdefault(second, [0, 0, 0])
        for position, amount in enumerate((read, written, cpu_us)):
            booked[position] += amount
    return by_second


def _booked(since_zero_ns: int, last_second: int | None) -> int:
    """The second that the one which ended at ``since_zero_ns`` counts for.

    This is the second after ``last_second``, as long as that is less than a second off: otherwise two events
    that come a little early or late could fall into one second and leave the next one empty.
    """
    middle_ns = since_zero_ns - SECOND_NS // 2
    if last_second is not None:
        expected_ns = (last_second + 1) * SECOND_NS + SECOND_NS // 2
        if abs(middle_ns - expected_ns) < SECOND_NS:
            return last_second + 1
    return middle_ns // SECOND_NS


def _sorted(downloads: Sequence[Download]) -> list[Download]:
    return sorted(downloads, key=lambda download: (download.index, download.number))


def _frame(rows: list[dict[str, Any]], schema: TableSchema) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema.polars, orient="row")
