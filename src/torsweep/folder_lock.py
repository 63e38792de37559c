"""One process at a time in a folder.

In: a folder. Out: a lock on its ``.lock`` file, until a block or the process ends. The lock is the
kernel's (flock), so a killed process leaves none behind; cellsim takes the same one on a run directory.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from torsweep.errors import OutputError
from torsweep.storage.folders import FolderKind, own_folder, require_plain

_held: list[FileLock] = []
"""Locks that this process keeps until it ends."""


def hold_folder(folder: Path) -> None:
    """Claim ``folder`` for this process until it ends, however it ends.

    Raises OutputError when the folder cannot be written, or another process holds it.
    """
    lock = _lock(folder)
    if not _acquired(lock, folder):
        holder = Path(lock.lock_file).read_text(errors="replace").strip()
        whose = f" (process {holder})" if holder else ""
        raise OutputError(f"{folder}: in use by another run of the pipeline{whose}; wait for its end")
    Path(lock.lock_file).write_text(f"{os.getpid()}\n")
    _held.append(lock)


@contextlib.contextmanager
def folder_claimed(folder: Path, kind: FolderKind, *, wait: bool) -> Iterator[None]:
    """Claim ``folder``, of ``kind``, for the block; when another process has it, ``wait`` for it or refuse.

    Raises OutputError when the folder may not or cannot be written (:mod:`torsweep.storage.folders`), or is
    in use and ``wait`` is false.
    """
    own_folder(folder, kind)
    lock = _lock(folder)
    if not _acquired(lock, folder):
        if not wait:
            raise OutputError(f"{folder}: another run is under way in this folder; wait for its end")
        print(f"{folder}: waiting for the run that is under way", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _lock(folder: Path) -> FileLock:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is no folder; results go there")
    require_plain(folder / ".lock")
    return FileLock(folder / ".lock")


def _acquired(lock: FileLock, folder: Path) -> bool:
    """Whether ``lock`` was free and is now held; OutputError when its folder cannot be written."""
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except OSError as error:
        raise OutputError(f"{folder}: results cannot be written there: {error.strerror}") from None
    return True
