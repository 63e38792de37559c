"""One emulation at a time on a machine.

In: nothing. Out: a lock on a file that every user of the machine can read, until a block or the process ends;
the kernel releases it when the process has ended, for whatever reason. Two runs at the same time would
disturb each other's measurements.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import OutputError

LOCK = Path("/tmp") / "torsweep-emulation.lock"
"""The file is in /tmp, because that folder is the same for all users."""


@contextlib.contextmanager
def machine_claimed(lock: Path = LOCK) -> Iterator[None]:
    """Have the machine for the block. Raises OutputError when another emulation has it."""
    descriptor = _open(lock)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                "another emulation is under way on this machine; each needs the processors for itself:"
                " wait for its end"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _open(lock: Path) -> int:
    try:
        # Without O_CREAT first: the kernel refuses it on a file of somebody else in a folder open to all.
        try:
            return os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise OutputError(f"{lock}: cannot be opened: {error.strerror}") from error
