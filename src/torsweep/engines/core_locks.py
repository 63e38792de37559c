"""Locks on the cores of a machine, by which runs that are under way share it.

In: where the files of the locks are. Out: the cores that were free, locked while the block runs. A lock does
not bind a process to its core.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import OutputError


@contextlib.contextmanager
def locked_cores(stem: Path, most: int) -> Iterator[list[int]]:
    """Lock up to ``most`` of this process's cores that nobody else has locked; the file of a lock is named
    ``stem`` and the number of the core. Raises OutputError when it cannot be opened."""
    cores: list[int] = []
    with contextlib.ExitStack() as locks:
        for core in sorted(os.sched_getaffinity(0)):
            if len(cores) == most:
                break
            descriptor = open_lock(stem.with_name(f"{stem.name}.{core}"))
            locks.callback(os.close, descriptor)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                cores.append(core)
        yield cores


def open_lock(lock: Path, *, for_all: bool = False) -> int:
    """A descriptor of the file ``lock``, made where there is none; with ``for_all`` every user may write it.

    Raises OutputError when it cannot be opened.
    """
    access = os.O_RDWR if for_all else os.O_RDONLY
    try:
        # Without O_CREAT first: the kernel refuses it on a file of somebody else in a folder open to all.
        with contextlib.suppress(FileNotFoundError):
            return os.open(lock, access | os.O_CLOEXEC)
        descriptor = os.open(lock, access | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if for_all:
            os.fchmod(descriptor, 0o666)
        return descriptor
    except OSError as error:
        raise OutputError(f"{lock}: cannot be opened: {error.strerror}") from error
