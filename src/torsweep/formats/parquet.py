"""Parquet files.

In: a path. Out: a frame, or the key-value metadata; an InputError for a file that is missing or
damaged, or lacks a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import require_regular


def read_frame(file: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The table in ``file``, or some of its columns."""
    with _readable(file):
        return scan_frame(file, columns).collect()


def scan_frame(file: Path, columns: Sequence[str] | None = None) -> pl.LazyFrame:
    """As :func:`read_frame`, but rows are read when they are collected: for files whose checksum fits."""
    with _readable(file):
        present = pl.read_parquet_schema(file)
        frame = pl.scan_parquet(file)
    lacking = [name for name in columns or () if name not in present]
    if lacking:
        accepted = f"also {', '.join(lacking)}"
        raise InputError("columns are missing", file=file, value=list(present), accepted=accepted)
    return frame if columns is None else frame.select(columns)


def read_metadata(file: Path) -> dict[str, str]:
    """The key-value metadata of ``file``."""
    with _readable(file):
        return dict(pl.read_parquet_metadata(file))


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    require_regular(file, "no such table")
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError("is no whole Parquet file", file=file) from error
