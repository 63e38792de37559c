"""Rings of traced cells: what was written is read, and what is missing is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from torsweep.engines import cell_ring
from torsweep.engines.cell_ring import CHANNEL, OUTWARD, POINTS, RECORD, RING_HEADER, read_ring
from torsweep.engines.table_schema import CELLS, validate
from torsweep.errors import InputError

HEADER_BYTES = 128


def write_ring(
    file: Path, records: np.ndarray, capacity: int = 8, *, channels: int = 0, **header: int
) -> Path:
    """A file as tor leaves it after writing ``records`` into a ring of ``capacity``."""
    head = np.zeros(1, RING_HEADER)
    usual = {
        "magic": cell_ring.MAGIC,
        "version": cell_ring.RING_VERSION,
        "header_bytes": HEADER_BYTES,
        "channel_bytes": CHANNEL.itemsize,
        "record_bytes": RECORD.itemsize,
        "most_channels": 2,
        "most_records": capacity,
        "channels": channels,
        "records": len(records),
        "points": 31,
        "sample": 1,
    }
    for key, value in (usual | header).items():
        head[key] = value
    listed = np.zeros(2, CHANNEL)
    listed["channel"], listed["local_ipv4"], listed["local_port"] = [5, 6], 0x0B000001, 9001
    ring = np.zeros(capacity, RECORD)
    for number, record in enumerate(records):
        ring[number % capacity] = record
    content = head.tobytes().ljust(HEADER_BYTES, b"\0") + listed.tobytes() + ring.tobytes()
    file.write_bytes(content)
    return file


def made(count: int) -> np.ndarray:
    """``count`` records of cells 1, 2, …, each with its number and a place."""
    records = np.zeros(count, RECORD)
    records["sequence"] = np.arange(1, count + 1)
    records["cell"] = np.arange(1, count + 1)
    records["time_ns"] = 1000 * np.arange(1, count + 1)
    records["place"] = np.arange(count) % len(POINTS)
    return records


@pytest.mark.parametrize(("written", "overwritten"), [(5, 0), (21, 13)])
def test_records_come_in_the_order_of_writing_and_the_oldest_are_overwritten(tmp_path, written, overwritten):
    ring = read_ring(write_ring(tmp_path / "ring", made(written)))
    assert ring.records["cell"].tolist() == list(range(overwritten + 1, written + 1))
    assert (ring.written, ring.overwritten, ring.torn) == (written, overwritten, 0)


def test_a_record_without_its_number_is_torn(tmp_path):
    records = made(6)
    records["sequence"][3] = 99
    records["place"][4] = len(POINTS)
    ring = read_ring(write_ring(tmp_path / "ring", records))
    assert ring.records["cell"].tolist() == [1, 2, 3, 6]
    assert ring.torn == 2


def test_what_is_overwritten_while_it_is_read_is_left_out(tmp_path, monkeypatch):
    """Between the two readings of the header, tor writes three records, and may be at a fourth."""
    file = write_ring(tmp_path / "ring", made(8))
    header, seen = cell_ring.read_header, []

    def later(content: np.ndarray, of: Path) -> np.void:
        told = header(content, of)
        if seen:
            told["records"] += 3
        seen.append(told)
        return told

    monkeypatch.setattr(cell_ring, "read_header", later)
    ring = read_ring(file)
    assert ring.records["cell"].tolist() == [5, 6, 7, 8]
    assert ring.torn == 4


def test_channels_beyond_the_list_are_counted(tmp_path):
    ring = read_ring(write_ring(tmp_path / "ring", made(1), channels=3))
    assert ring.unlisted_channels == 1
    assert cell_ring.channels_frame(ring, "relay1").row(0, named=True) == {
        "host": "relay1",
        "channel": 5,
        "seen_ns": 0,
        "local_address": "11.0.0.1",
        "local_port": 9001,
        "remote_address": None,
        "remote_port": 0,
        "is_outgoing": False,
    }


def test_the_table_says_what_each_place_knows(tmp_path):
    records = made(5)
    records["detail"][1] = 3 << 16 | 0x4321
    records["value"] = 7
    records["tls_offset"], records["tcp_offset"] = 514, 536
    records["place"][2:] |= OUTWARD
    frame = cell_ring.cells_frame(read_ring(write_ring(tmp_path / "ring", records)), "relay1")
    validate(frame, CELLS, tmp_path / "ring")
    known = {
        "point": [*POINTS],
        "outward": [None, False, True, True, True],
        "relay_command": [None, 3, None, None, None],
        "stream": [None, 0x4321, None, None, None],
        "queue_cells": [None, None, 7, 7, None],
        "write_ns": [None, None, None, None, 7],
        "tls_offset": [514, None, None, 514, 514],
        "tcp_offset": [536, None, None, None, 536],
    }
    assert frame.select(*known).to_dict(as_series=False) == known
    assert frame.schema["time_ns"] == pl.Int64


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "no cell trace"),
        (lambda content: b"NOTCELLS" + content[8:], "no cell trace"),
        (lambda content: content[:40], "no cell trace"),
        (lambda content: content[:-1], "cut short"),
        (lambda content: content[:8] + b"\2" + content[9:], "another version"),
        (lambda content: content[:20] + b"\0" + content[21:], "damaged header"),
        (lambda content: content[:32] + b"\xff" * 8 + content[40:], "damaged header"),
        (lambda content: content[:60] + bytes(4) + content[64:], "damaged header"),
    ],
)
def test_what_is_no_ring_is_refused(tmp_path, damage, words):
    file = write_ring(tmp_path / "ring", made(3))
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=words):
        read_ring(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_ring(tmp_path / "none")
