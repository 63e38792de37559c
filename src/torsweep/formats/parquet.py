"""Parquet files.

In: a path. Out: a frame, or the key-value metadata. polars trusts what a damaged file says about itself: it
panics, or asks for more memory than there is, which ends the process. A file without a matching checksum is
therefore first read in a process of its own (``python -m torsweep.formats.parquet``), which may fail without
harm, and only then here; one whose checksum fits is read at once.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import resource
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from torsweep.errors import InputError
from torsweep.formats.files import GIB, require_regular

MOST_PARQUET_BYTES = 16 * GIB
_MAGIC = b"PAR1"
_WHOLE, _DAMAGED = b"whole\n", b"damaged\n"
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
    _require_whole(file, trusted)
    held = pl.read_parquet_schema(file)
    lacking = [name for name in columns or () if name not in held]
    if lacking:
        raise InputError(
            "columns are missing", file=file, value=list(held), accepted=f"also {', '.join(lacking)}"
        )
    return pl.read_parquet(file, columns=list(columns) if columns is not None else None)


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
        _tried(file.absolute(), found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=4096)
def _tried(file: Path, size: int, changed_ns: int, inode: int) -> None:
    """Raise InputError when another process could not read ``file``; success is remembered until the file
    changes."""
    if "\n" in str(file):
        raise InputError("its path holds a line end", file=file)
    seconds = _TRIAL_S + size / _TRIAL_BYTES_PER_S
    if not _trial().reads(file, seconds):
        raise InputError("is no whole Parquet file", file=file)


class _Trial:
    """A process that reads the files it is told of; a new one when the last has come to its end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def reads(self, file: Path, seconds: float) -> bool:
        """Whether the process could read ``file`` within ``seconds``."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(os.fsencode(file) + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            answer = process.stdout.readline() if selector.select(seconds) else b""
        if answer not in (_WHOLE, _DAMAGED):
            self.end()
        return answer == _WHOLE

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "1"},
        )


@functools.cache
def _trial() -> _Trial:
    trial = _Trial()
    atexit.register(trial.end)
    return trial


def _try_files() -> None:
    """Read the files whose paths come on standard input, in bounded memory; say of each if it is whole."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        file = Path(os.fsdecode(line.rstrip(b"\n")))
        more = _TRIAL_BYTES_PER_FILE_BYTE * file.stat().st_size
        _limit(resource.RLIMIT_AS, _TRIAL_MEMORY_BYTES + more)
        _limit(resource.RLIMIT_DATA, _TRIAL_DATA_BYTES + more)
        sys.stdout.buffer.write(_WHOLE if _is_whole(file) else _DAMAGED)
        sys.stdout.buffer.flush()


def _limit(kind: int, most: int) -> None:
    """Lower the soft limit of this process, or raise it as far as may be."""
    _, hard = resource.getrlimit(kind)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _is_whole(file: Path) -> bool:
    try:
        pl.read_parquet_metadata(file)
        pl.read_parquet(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OSError, MemoryError):
        return False
    return True


if __name__ == "__main__":
    _try_files()
