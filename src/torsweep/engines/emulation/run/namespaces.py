"""Entering the network namespaces of hosts.

In: the path of a namespace (``/proc/PID/fd/N``). Out: this thread in it (Python has no setns before 3.12).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


def enter(namespace: str | Path) -> None:
    """Move this thread into ``namespace``. Raises OSError, naming it, when that is refused."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _LIBC.setns(descriptor, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def inside(namespace: str | Path) -> Iterator[None]:
    """Within the block this thread is in ``namespace``; a socket made there stays there."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(namespace)
        yield
    finally:
        enter(f"/proc/self/fd/{own}")
        os.close(own)
