"""NumPy arrays: npy files, mapped, and npz archives, read.

In: a path. Out: arrays of whole or real numbers. Arrays of objects, which could run code, are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular

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
