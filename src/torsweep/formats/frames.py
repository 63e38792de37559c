"""Tables as frames (CSV, plain or packed, and Parquet), and NumPy arrays (npy, mapped, and npz).

In: a path. Out: a frame, its key-value metadata, or arrays of numbers; an InputError for a file that is
missing or damaged, or lacks a column. Arrays of objects, which could run code, are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular, unpacked


def read_csv(
    file: Path, texts: Iterable[str] | None, numbers: Iterable[str] = (), missing: str = "no such file"
) -> pl.DataFrame:
    """The table in ``file``: ``texts`` are its columns of text (None: all are), ``numbers`` of real numbers;
    those that it does not have are passed over. InputError when it is no such table."""
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


_Content = TypeVar("_Content")


def map_array(file: Path) -> NDArray:
    """The array in the npy file ``file``, mapped for reading; InputError when it holds none."""
    size = require_regular(file)
    array = _read(file, lambda: np.lib.format.open_memmap(file, mode="r"))
    _require_numbers(array, file)
    if array.offset + array.nbytes != size:
        value = f"{size} bytes of {array.dtype} {array.shape}"
        raise InputError("is cut off or damaged", file=file, value=value)
    return array


def read_arrays(file: Path) -> Mapping[str, NDArray]:
    """The arrays in the npz archive ``file``, by name; InputError when it is none or one is damaged."""
    require_regular(file)
    arrays = _read(file, lambda: _unpacked(file))
    for array in arrays.values():
        _require_numbers(array, file)
    return arrays


def _unpacked(file: Path) -> dict[str, NDArray]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _read(file: Path, read: Callable[[], _Content]) -> _Content:
    try:
        with warnings.catch_warnings():
            # A header that only Python 2's rules would read is damaged here.
            warnings.simplefilter("error", UserWarning)
            return read()
    except Exception as error:  # NumPy and zipfile raise what it takes for damaged headers and archives
        raise InputError(f"is no whole file of NumPy arrays: {reason(error)}", file=file) from None


def _require_numbers(array: NDArray, file: Path) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        raise InputError("holds no numbers", file=file, accepted="whole or real numbers")
