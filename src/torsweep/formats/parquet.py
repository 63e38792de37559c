"""Parquet files.

In: a path. Out: a frame, or the key-value metadata. polars trusts what a damaged file says about itself: it
panics, or asks for more memory than there is, which ends the process. A file without a matching checksum is
therefore first read in a process of its own (``python -m torsweep.formats.parquet``), which may fail without
harm, and only then here; one whose checksum fits is read at once.
"""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import GIB, require_regular

MOST_PARQUET_BYTES = 16 * GIB
_MAGIC = b"PAR1"
_TRIAL_MEMORY_BYTES = 8 * GIB
"""Address space of the trial, most of which polars only reserves."""
_TRIAL_DATA_BYTES = GIB
"""Writable memory of the trial, which starts with 90 MB of it."""
_TRIAL_BYTES_PER_FILE_BYTE = 50
_TRIAL_S = 60
_TRIAL_BYTES_PER_S = 20_000_000


def read_frame(file: Path, columns: Sequence[str] | None = None, *, trusted: bool = False) -> pl.DataFrame:
    """The table in ``file``, or some of its columns.

    ``trusted`` says that the file's checksum has been compared. Raises InputError when it is missing, is no
    whole Parquet file or lacks a column.
    """
    return scan_frame(file, columns, trusted=trusted).collect()


def scan_frame(file: Path, columns: Sequence[str] | None = None, *, trusted: bool = False) -> pl.LazyFrame:
    """As :func:`read_frame`, but rows are read when they are collected."""
    _require_whole(file, trusted)
    held = pl.read_parquet_schema(file)
    lacking = [name for name in columns or () if name not in held]
    if lacking:
        raise InputError(
            "columns are missing", file=file, value=list(held), accepted=f"also {', '.join(lacking)}"
        )
    frame = pl.scan_parquet(file)
    return frame if columns is None else frame.select(columns)


def read_metadata(file: Path, *, trusted: bool = False) -> dict[str, str]:
    """The key-value metadata of ``file``; InputError as for :func:`read_frame`."""
    _require_whole(file, trusted)
    return dict(pl.read_parquet_metadata(file))


def _require_whole(file: Path, trusted: bool) -> None:
    size = require_regular(file, MOST_PARQUET_BYTES, "no such table")
    with file.open("rb") as opened:
        start = opened.read(4)
        opened.seek(max(0, size - 4))
        end = opened.read(4)
    if start != _MAGIC or end != _MAGIC:
        raise InputError("is no whole Parquet file", file=file)
    if not trusted:
        found = file.stat()
        _try(file.absolute(), found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=4096)
def _try(file: Path, size: int, changed_ns: int, inode: int) -> None:
    """Raise InputError when another process cannot read ``file``; success is remembered until the file
    changes."""
    command = [sys.executable, "-m", __name__, str(file)]
    environment = {**os.environ, "RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "1"}
    seconds = _TRIAL_S + size / _TRIAL_BYTES_PER_S
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, stdout=quiet, stderr=quiet, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError("is no whole Parquet file", file=file) from None
    if done.returncode:
        raise InputError("is no whole Parquet file", file=file)


def _read_in_bounds(file: Path) -> None:
    """Read ``file`` in bounded memory; whatever happens to this process says that it is damaged."""
    more = _TRIAL_BYTES_PER_FILE_BYTE * file.stat().st_size
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: _TRIAL_MEMORY_BYTES + more,
        resource.RLIMIT_DATA: _TRIAL_DATA_BYTES + more,
    }
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    pl.read_parquet_metadata(file)
    pl.read_parquet(file)


if __name__ == "__main__":
    _read_in_bounds(Path(sys.argv[1]))
