"""The ``cells`` table of a run: made from the rings that its relays wrote, and read whichever engine made it.

In: rings, by the names of their relays, and what the relays' clock showed at the run's time 0; or a run
directory. Out: the table, and for provenance.json how many records each relay wrote and how many of them are
lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from torsweep.config.tracing import POINTS, Tracing
from torsweep.engines.cell_ring import CHANNEL, RECORD, CellRing, cells_frame, read_ring
from torsweep.engines.table_schema import CELLS, validate
from torsweep.errors import InputError
from torsweep.storage import whole_file

_MOST_CHANNELS = 8192
_HEADER_BYTES = 4096
"""Sizes of the parts of a ring, as tor makes it (cell_trace.h)."""

_WORDS = {"host": pl.Categorical(), "point": pl.Enum(POINTS)}
"""Columns that a program without such types writes as texts."""


def ring_bytes(tracing: Tracing) -> int:
    """How large the ring of each relay is, which tor reserves when it starts."""
    return _HEADER_BYTES + _MOST_CHANNELS * CHANNEL.itemsize + tracing.records * RECORD.itemsize


def write_cells(run_directory: Path, rings: Mapping[str, Path], zero_ns: int) -> dict[str, dict[str, int]]:
    """Write the records of ``rings``, a file for each relay, as the table of the run; the counters of each
    relay.

    Rows are in the order of the relays, and of their writing. Raises InputError for a file that is no whole
    ring.
    """
    counters: dict[str, dict[str, int]] = {}
    frames = []
    for host, file in rings.items():
        ring = read_ring(file)
        counters[host] = _counters(ring)
        frames.append(cells_frame(ring, host, zero_ns))
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=CELLS.polars)
    file = run_directory / CELLS.file
    validate(frame, CELLS, file)
    with whole_file(file) as temporary:
        frame.write_parquet(temporary, compression="zstd", compression_level=1)
    return counters


def _counters(ring: CellRing) -> dict[str, int]:
    return {
        "cells": ring.cells,
        "written": ring.written,
        "overwritten": ring.overwritten,
        "torn": ring.torn,
        "unlisted_channels": ring.unlisted_channels,
    }


def scan_cells(run_directory: Path) -> pl.LazyFrame:
    """The table of the run in ``run_directory``, with the types of its schema.

    Its checksum has been compared. Raises InputError when it is missing or has other columns.
    """
    file = run_directory / CELLS.file
    if not file.is_file():
        raise InputError("no such table", file=file)
    frame = pl.scan_parquet(file)
    try:
        found = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError("is no whole Parquet file", file=file) from error
    texts = {name: kind for name, kind in _WORDS.items() if found.get(name) == pl.String}
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in texts.items())
    validate(frame.head(0).collect(), CELLS, file)
    return frame
