"""NumPy arrays: npy files, mapped, and npz archives, read.

In: a path. Out: arrays of whole or real numbers. Arrays of objects, which could run code, are refused, and so
is an archive that would unpack to more than there is memory for.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.files import GIB, reason, require_regular, too_large

MOST_ARRAY_BYTES = 2 * GIB
"""The round trips of 20,000 places have 1.6 GB, and are mapped, not read."""

MOST_ARCHIVE_BYTES, MOST_ARCHIVE_ARRAYS = 2 * GIB, 64
"""All arrays of an npz file, unpacked: a matrix of 20,000 measured hosts has 1.6 GB."""


def map_array(file: Path) -> NDArray:
    """The array in the npy file ``file``, mapped for reading; InputError when it holds none."""
    size = require_regular(file, MOST_ARRAY_BYTES)
    array = _read(file, lambda: np.lib.format.open_memmap(file, mode="r"))
    if array.offset + array.nbytes != size:
        raise InputError(
            "is cut off or damaged", file=file, value=f"{size} bytes of {array.dtype} {array.shape}"
        )
    return array


def read_arrays(file: Path) -> Mapping[str, NDArray]:
    """The arrays in the npz archive ``file``, by name; InputError when it is none or one is damaged."""
    require_regular(file, MOST_ARCHIVE_BYTES)
    return _read(file, lambda: _unpacked(file))


def _unpacked(file: Path) -> Mapping[str, NDArray]:
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    # No more is unpacked than the directory of the archive says.
    if len(entries) > MOST_ARCHIVE_ARRAYS or sum(entry.file_size for entry in entries) > MOST_ARCHIVE_BYTES:
        raise too_large(file, MOST_ARCHIVE_BYTES, f"holds more than {MOST_ARCHIVE_ARRAYS} arrays, or")
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def _read(file: Path, read: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            # A header that only Python 2's rules would read is damaged here.
            warnings.simplefilter("error")
            # Not those of objects that Python happens to clear away meanwhile.
            warnings.simplefilter("default", ResourceWarning)
            found = read()
    except InputError:
        raise
    except Exception as error:  # NumPy and zipfile raise what it takes for damaged headers and archives
        raise InputError(f"is no whole file of NumPy arrays: {reason(error)}", file=file) from None
    for array in found.values() if isinstance(found, dict) else [found]:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
            raise InputError("holds no numbers", file=file, accepted="whole or real numbers")
    return found
