"""The ring file in which a patched tor records when cells pass its stages; the ``cells`` table of a run.

In: a file that ``CellTraceFile`` names, of a tor that has ended or is still running. Out: :class:`CellRing`,
with the records, the channels that cells passed, and how many records are missing, and why. The layout is
that of ``cell_trace.h`` in ``patches/tor/cell-tracing.patch``; the integers have the machine's order.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.tracing import POINTS, Tracing
from torsweep.engines.table_schema import CELLS, validate, write_table
from torsweep.errors import InputError
from torsweep.storage import whole_file

CHANNELS_FILE = "channels.parquet"

_MOST_CHANNELS = 8192
_HEADER_BYTES = 4096
"""Sizes of the parts of a ring, as tor makes it (cell_trace.h)."""

_COUNTERS = ("cells", "written", "overwritten", "torn", "unlisted_channels")
_TEXT_COLUMNS = {"host": pl.Categorical(), "point": pl.Enum(POINTS)}
"""Columns that a program without such types writes as texts."""


def ring_bytes(tracing: Tracing) -> int:
    """How large the ring of each relay is, which tor reserves when it starts."""
    return _HEADER_BYTES + _MOST_CHANNELS * CHANNEL.itemsize + tracing.records * RECORD.itemsize


def write_cells(run_directory: Path, rings: Mapping[str, Path], zero_ns: int) -> dict[str, dict[str, int]]:
    """Write the records of ``rings``, a file for each relay, as the table of the run, in the order of their
    writing, and their channels beside it; the counters of each relay. InputError for a file that is no whole
    ring."""
    counters: dict[str, dict[str, int]] = {}
    frames, channels = [], []
    for host, file in rings.items():
        ring = read_ring(file)
        channels.append(channels_frame(ring, host))
        counters[host] = {name: getattr(ring, name) for name in _COUNTERS}
        frames.append(cells_frame(ring, host, zero_ns))
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=CELLS.polars)
    write_table(run_directory, CELLS, frame, compression_level=1)
    if channels:
        with whole_file(run_directory / CHANNELS_FILE) as temporary:
            pl.concat(channels).write_parquet(temporary)
    return counters


def scan_cells(run_directory: Path) -> pl.LazyFrame:
    """The table of the run, whose checksum has been compared, with the types of its schema; InputError when
    it is missing or has other columns."""
    file = run_directory / CELLS.file
    if not file.is_file():
        raise InputError("no such table", file=file)
    frame = pl.scan_parquet(file)
    try:
        types = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError("is no whole Parquet file", file=file) from error
    texts = {name: kind for name, kind in _TEXT_COLUMNS.items() if types.get(name) == pl.String}
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in texts.items())
    validate(frame.head(0).collect(), CELLS, file)
    return frame


RING_FILE = "cells.ring"
"""What the engines call a ring, in the folder of its process."""

MAGIC = b"TORCELLS"
RING_VERSION = 1

RING_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "u4"),
        ("header_bytes", "u4"),
        ("channel_bytes", "u4"),
        ("record_bytes", "u4"),
        ("most_channels", "u8"),
        ("most_records", "u8"),
        ("channels", "u8"),
        ("records", "u8"),
        ("points", "u4"),
        ("sample", "u4"),
        ("cells", "u8"),
        ("pid", "u8"),
    ]
)
CHANNEL = np.dtype(
    [
        ("channel", "u8"),
        ("seen_ns", "u8"),
        ("local_ipv4", "u4"),
        ("remote_ipv4", "u4"),
        ("local_port", "u2"),
        ("remote_port", "u2"),
        ("is_outgoing", "u4"),
        ("remote_identity", "V32"),
    ]
)
RECORD = np.dtype(
    [
        ("time_ns", "u8"),
        ("cell", "u8"),
        ("tls_offset", "u8"),
        ("tcp_offset", "u8"),
        ("channel", "u4"),
        ("circuit", "u4"),
        ("detail", "u4"),
        ("value", "u4"),
        ("sequence", "u4"),
        ("reserved", "u2"),
        ("command", "u1"),
        ("place", "u1"),
    ]
)

OUTWARD = 0x80
"""Set in a record's place when the cell goes away from the client."""


@dataclass(frozen=True)
class CellRing:
    """The content of a ring: ``records`` as :data:`RECORD`, oldest first, and ``channels``.

    tor wrote ``written`` records: these, those ``overwritten`` by newer ones, and ``torn`` ones, which were
    being overwritten while the file was read, or do not carry the number that their place in the ring asks
    for. ``cells`` counts the cells that tor saw, recorded or not.
    """

    records: NDArray[np.void]
    channels: NDArray[np.void]
    written: int
    overwritten: int
    torn: int
    unlisted_channels: int
    cells: int


def read_ring(file: Path) -> CellRing:
    """The ring in ``file``, to which tor may be writing; InputError when it cannot be read, is no such ring
    or one of another version, or is shorter than its header says."""
    try:
        size = file.stat().st_size
        content = np.memmap(file, dtype=np.uint8, mode="r") if size else np.zeros(0, np.uint8)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file) from None
    before = read_header(content, file)
    first_record = int(before["header_bytes"]) + int(before["channel_bytes"]) * int(before["most_channels"])
    listed = min(int(before["channels"]), int(before["most_channels"]))
    channels = np.frombuffer(content, CHANNEL, listed, int(before["header_bytes"])).copy()
    written, capacity = int(before["records"]), int(before["most_records"])
    held = min(written, capacity)
    ring = np.frombuffer(content, RECORD, held, first_record)
    oldest = written - held
    turn = oldest % capacity
    records = np.concatenate([ring[turn:], ring[:turn]])
    # Records that tor has written since, and the one that it may be writing now, have overwritten the oldest.
    after = int(read_header(content, file)["records"])
    replaced = max(0, min(held, after + 1 - capacity - oldest)) if after > written else 0
    expected = (oldest + 1 + np.arange(held, dtype=np.uint64)).astype(np.uint32)
    whole = (records["sequence"] == expected) & ((records["place"] & ~np.uint8(OUTWARD)) < len(POINTS))
    whole[:replaced] = False
    return CellRing(
        records=records[whole],
        channels=channels,
        written=written,
        overwritten=oldest,
        torn=int(held - whole.sum()),
        unlisted_channels=int(before["channels"]) - listed,
        cells=int(before["cells"]),
    )


def read_header(content: NDArray[np.uint8], file: Path) -> np.void:
    """The file's current header; InputError if there is none, or it states more than the file holds."""
    if content.size < RING_HEADER.itemsize or bytes(content[: len(MAGIC)]) != MAGIC:
        raise InputError("is no cell trace of tor", file=file, accepted="a file that CellTraceFile named")
    header = np.frombuffer(content, RING_HEADER, 1)[0].copy()
    if header["version"] != RING_VERSION:
        problem, accepted = "is a cell trace of another version", f"version {RING_VERSION}"
        raise InputError(problem, file=file, value=int(header["version"]), accepted=accepted)
    number = {name: int(header[name]) for name in RING_HEADER.names or () if name != "magic"}
    widths = (number["channel_bytes"], number["record_bytes"])
    need = number["header_bytes"] + widths[0] * number["most_channels"] + widths[1] * number["most_records"]
    sane = widths == (CHANNEL.itemsize, RECORD.itemsize) and number["header_bytes"] >= RING_HEADER.itemsize
    if not sane or not number["most_records"] or not number["sample"] or content.size < need:
        raise InputError("has a damaged header, or is cut short", file=file, value=f"{content.size} bytes")
    return header


def cells_frame(ring: CellRing, host: str, zero_ns: int = 0) -> pl.DataFrame:
    """The records of ``ring`` as a ``cells`` table of ``host``, whose clock shows ``zero_ns`` at time 0."""
    records = ring.records
    place = records["place"] & ~np.uint8(OUTWARD)
    at = {name: place == number for number, name in enumerate(POINTS)}
    in_queue, ends_bytes = at["queue"] | at["outbuf"], at["inbuf"] | at["outbuf"] | at["flush"]
    has_detail = records["detail"] > 0

    def where(chosen: NDArray[np.bool_], values: NDArray[np.unsignedinteger]) -> pl.Series:
        return pl.select(
            pl.when(pl.Series(chosen)).then(pl.Series(values.astype(np.int64))).otherwise(None)
        ).to_series()

    # At the input buffer it is not known yet in which direction the cell travels on its circuit.
    outward = pl.Series((records["place"] & OUTWARD) > 0)
    return pl.DataFrame(
        {
            "host": pl.Series([host], dtype=pl.Categorical).new_from_index(0, len(records)),
            "time_ns": pl.Series(records["time_ns"].astype(np.int64) - zero_ns),
            "cell": pl.Series(records["cell"].astype(np.int64)),
            "point": pl.Series(place).replace_strict(
                range(len(POINTS)), POINTS, return_dtype=pl.Enum(POINTS)
            ),
            "outward": pl.select(pl.when(pl.Series(~at["inbuf"])).then(outward).otherwise(None)).to_series(),
            "channel": pl.Series(records["channel"].astype(np.int64)),
            "circuit": pl.Series(records["circuit"].astype(np.int64)),
            "command": pl.Series(records["command"].astype(np.int64)),
            "relay_command": where(has_detail, records["detail"] >> np.uint32(16)),
            "stream": where(has_detail, records["detail"] & np.uint32(0xFFFF)),
            "queue_cells": where(in_queue, records["value"]),
            "write_ns": where(at["flush"], records["value"]),
            "tls_offset": where(ends_bytes, records["tls_offset"]),
            "tcp_offset": where(at["inbuf"] | at["flush"], records["tcp_offset"]),
        },
        schema=CELLS.polars,
    )


def channels_frame(ring: CellRing, host: str) -> pl.DataFrame:
    """The channels of ``ring``: host, channel, when first seen, addresses (null if not IPv4) and ports of
    both ends."""
    channels = ring.channels

    def addresses(values: NDArray[np.uint32]) -> list[str | None]:
        return [str(ipaddress.IPv4Address(int(value))) if value else None for value in values]

    return pl.DataFrame(
        {
            "host": [host] * len(channels),
            "channel": channels["channel"].astype(np.int64),
            "seen_ns": channels["seen_ns"].astype(np.int64),
            "local_address": addresses(channels["local_ipv4"]),
            "local_port": channels["local_port"].astype(np.int64),
            "remote_address": addresses(channels["remote_ipv4"]),
            "remote_port": channels["remote_port"].astype(np.int64),
            "is_outgoing": channels["is_outgoing"] > 0,
        },
        schema_overrides={"host": pl.String, "local_address": pl.String, "remote_address": pl.String},
    )
