"""The bytes of a file that a user or another file names.

In: a path and the most bytes it may have. Out: its bytes. Only regular files are read: a pipe would never
end, a device is no document.
"""

from __future__ import annotations

import stat
from pathlib import Path

from torsweep.errors import InputError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

MOST_INTEGER = 2**63 - 1
"""The largest whole number of a document: that of a signed integer of 64 bits."""


def require_regular(file: Path, most_bytes: int, missing: str = "no such file") -> int:
    """The size of the regular file ``file`` in bytes.

    Raises InputError when there is none (its problem is ``missing``), it is something else than a file, or
    it has more than ``most_bytes``.
    """
    try:
        found = file.stat()
    except FileNotFoundError:
        raise InputError(missing, file=file) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, a socket or a device"
        raise InputError(f"is {what}", file=file, accepted="a file")
    if found.st_size > most_bytes:
        raise too_large(file, most_bytes)
    return found.st_size


def read_bytes(file: Path, most_bytes: int, missing: str = "no such file") -> bytes:
    """All of ``file``; raises InputError as :func:`require_regular` does, or when it cannot be read."""
    found = require_regular(file, most_bytes, missing)
    try:
        with file.open("rb") as opened:
            # A file can grow after it was looked at, and read() maps as much as it is told to.
            return opened.read(found)
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


def too_large(file: Path, most_bytes: int, problem: str = "is too large") -> InputError:
    """The error for a file of more than ``most_bytes``, as it is or unpacked."""
    unit, factor = next(each for each in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)) if most_bytes >= each[1])
    return InputError(problem, file=file, accepted=f"at most {most_bytes // factor} {unit}")


def reason(error: Exception) -> str:
    """What the system says about ``error``, in one line."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).splitlines()[0]
