"""NumPy arrays: npy files, mapped, and npz archives, read.

In: a path. Out: arrays of whole or real numbers. The header of an array is checked against the bytes there
are before any memory is taken for it; arrays of objects, which could run code, are refused.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.files import read_bytes, reason, require_regular
from torsweep.formats.limits import (
    MOST_ARCHIVE_ARRAYS,
    MOST_ARCHIVE_BYTES,
    MOST_ARRAY_BYTES,
    MOST_ARRAY_DIMENSIONS,
)

_PLAIN_NUMBERS = "iuf"
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
    LookupError,
)
"""What :mod:`zipfile` raises for a damaged archive, an encrypted one, or a compression that it lacks."""


def map_array(file: Path) -> NDArray:
    """The array in the npy file ``file``, mapped for reading; InputError when it holds none."""
    size = require_regular(file, MOST_ARRAY_BYTES)
    try:
        with file.open("rb") as opened:
            shape, dtype, fortran = _header(opened, size, file)
            start = opened.tell()
        if not size - start:
            return np.empty(shape, dtype)
        return np.memmap(
            file, dtype=dtype, mode="r", shape=shape, order="F" if fortran else "C", offset=start
        )
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


def read_arrays(file: Path) -> Mapping[str, NDArray]:
    """The arrays in the npz archive ``file``, by name; InputError when it is none or one is damaged."""
    content = read_bytes(file, MOST_ARCHIVE_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_sizes(entries, file)
            return {entry.filename.removesuffix(".npy"): _entry(archive, entry, file) for entry in entries}
    except _ZIP_ERRORS as error:
        raise InputError(f"is no whole archive of NumPy arrays: {reason(error)}", file=file) from None


def _check_sizes(entries: list[zipfile.ZipInfo], file: Path) -> None:
    if len(entries) > MOST_ARCHIVE_ARRAYS or len({entry.filename for entry in entries}) < len(entries):
        accepted = f"at most {MOST_ARCHIVE_ARRAYS} arrays, each name once"
        raise InputError(
            "is no archive of arrays", file=file, value=f"{len(entries)} entries", accepted=accepted
        )
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MOST_ARCHIVE_BYTES:
        accepted = f"at most {MOST_ARCHIVE_BYTES} bytes"
        raise InputError("is too large unpacked", file=file, value=f"{unpacked} bytes", accepted=accepted)


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: Path) -> NDArray:
    with archive.open(entry) as opened:
        # No more than the directory of the archive says, whatever the compressed data unpack to.
        content = opened.read(entry.file_size)
        rest = opened.read(1)
    if rest or len(content) != entry.file_size:
        raise InputError("is damaged: an array is not as long as it says", file=file, key=entry.filename)
    buffer = io.BytesIO(content)
    shape, dtype, fortran = _header(buffer, len(content), file, entry.filename)
    flat = np.frombuffer(content, dtype=dtype, offset=buffer.tell())
    return flat.reshape(shape, order="F" if fortran else "C")


def _header(
    opened: BinaryIO, size: int, file: Path, key: str | None = None
) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, type and order of the array that begins where ``opened`` stands and ends at ``size``."""
    try:
        version = np.lib.format.read_magic(opened)
        if version not in _HEADER_READERS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not accepted")
        with warnings.catch_warnings():
            # A header that only Python 2's rules would read is damaged here.
            warnings.simplefilter("error")
            shape, fortran, dtype = _HEADER_READERS[version](opened)
    except (
        ValueError,
        TypeError,
        SyntaxError,
        LookupError,
        EOFError,
        MemoryError,
        RecursionError,
        tokenize.TokenError,
        Warning,
    ) as error:
        raise InputError(f"is no whole NumPy array: {reason(error)}", file=file, key=key) from None
    if dtype.kind not in _PLAIN_NUMBERS or dtype.hasobject or dtype.subdtype is not None:
        raise InputError(
            "holds no numbers", file=file, key=key, value=str(dtype), accepted="whole or real numbers"
        )
    if len(shape) > MOST_ARRAY_DIMENSIONS or any(type(length) is not int or length < 0 for length in shape):
        accepted = f"at most {MOST_ARRAY_DIMENSIONS} dimensions of 0 or more"
        raise InputError("has no shape of an array", file=file, key=key, value=shape, accepted=accepted)
    held, needed = size - opened.tell(), math.prod(shape) * dtype.itemsize
    if held != needed:
        raise InputError(
            "is cut off or damaged",
            file=file,
            key=key,
            value=f"{held} bytes of numbers",
            accepted=f"{needed} bytes for {dtype} {shape}",
        )
    return shape, dtype, fortran
