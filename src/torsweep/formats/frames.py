"""Tables as frames: CSV, plain or packed, and Parquet.

In: a path. Out: a frame, or the key-value metadata; an InputError for a file that is missing or damaged, or
lacks a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import require_regular
from torsweep.formats.text import unpacked


def read_csv(
    file: Path, texts: Iterable[str] | None, numbers: Iterable[str] = (), missing: str = "no such file"
) -> pl.DataFrame:
    """The table in ``file``: ``texts`` are its columns of text (None: all are), ``numbers`` of real numbers.

    Columns of either that it does not have are passed over. Raises InputError when it is no such table.
    """
    require_regular(file, missing)
    types = {**dict.fromkeys(numbers, pl.Float64), **dict.fromkeys(texts or (), pl.String)}
    rows_to_guess_from = None if texts is not None else 0
    try:
        with unpacked(file) as opened:
            return pl.read_csv(opened.read(), schema_overrides=types, infer_schema_length=rows_to_guess_from)
    except pl.exceptions.NoDataError:
        raise InputError("is empty", file=file, accepted="a CSV table") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).splitlines()[0] if str(error) else "damaged"
        raise InputError(f"is no CSV table: {first}", file=file) from None


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
