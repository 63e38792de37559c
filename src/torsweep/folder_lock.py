"""One process at a time in a folder.

In: a folder. Out: a lock on its ``.lock`` file, until a block or the process ends. The lock is the
kernel's (flock), so a killed process leaves none behind; cellsim takes the same one on a run directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import OutputError
from torsweep.storage.folders import Kind, own_folder
from torsweep.storage.leftovers import sweep

_held: list[int] = []
"""Descriptors of the locks that this process keeps until it ends."""


def hold_folder(folder: Path) -> None:
    """Claim ``folder`` for this process until it ends, however it ends.

    Raises OutputError when the folder cannot be written, or another process holds it.
    """
    descriptor = _open(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        whose = f" (process {holder})" if holder else ""
        raise OutputError(
            f"{folder}: in use by another run of the pipeline{whose}; wait for its end"
        ) from None
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    _held.append(descriptor)


@contextlib.contextmanager
def folder_claimed(folder: Path, kind: Kind, *, wait: bool) -> Iterator[None]:
    """Claim ``folder``, of ``kind``, for the block; when another process has it, ``wait`` for it or refuse.

    What killed processes left in it is removed. Raises OutputError when the folder may not or cannot be
    written (:mod:`torsweep.storage.folders`), or is in use and ``wait`` is false.
    """
    own_folder(folder, kind)
    descriptor = _open(folder)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise OutputError(
                    f"{folder}: another run is under way in this folder; wait for its end"
                ) from None
            print(f"{folder}: waiting for the run that is under way", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        sweep(folder)
        yield
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int:
    lock = folder / ".lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A pipe would keep the open, or a later read, waiting for ever.
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    except FileExistsError:
        raise OutputError(f"{folder}: is no folder; results go there") from None
    except OSError as error:
        raise OutputError(f"{folder}: results cannot be written there: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OutputError(f"{lock}: is no file; accepted: no such file, or one of torsweep's")
    return descriptor
