"""The bytes of a file that a user or another file names.

In: a path. Out: its bytes. Only regular files are read: a pipe would never end, a device is no document. A
document that is read as a whole has a most: a file far above it is another one, and would fill the memory.
"""

from __future__ import annotations

import stat
from pathlib import Path

from torsweep.errors import InputError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

MOST_INTEGER = 2**63 - 1
"""The largest whole number of a document: that of a signed integer of 64 bits."""


def require_regular(file: Path, missing: str = "no such file") -> int:
    """The size of the regular file ``file`` in bytes.

    Raises InputError when there is none (its problem is ``missing``) or it is something else than a file.
    """
    try:
        state = file.stat()
    except FileNotFoundError:
        raise InputError(missing, file=file) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None
    if not stat.S_ISREG(state.st_mode):
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe, a socket or a device"
        raise InputError(f"is {what}", file=file, accepted="a file")
    return state.st_size


def read_bytes(file: Path, most_bytes: int, missing: str = "no such file") -> bytes:
    """All of ``file``; InputError as for :func:`require_regular`, when it cannot be read or is too large."""
    if require_regular(file, missing) > most_bytes:
        raise too_large(file, most_bytes)
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


def too_large(file: Path, most_bytes: int) -> InputError:
    """The error for a file of more than ``most_bytes``, as it is or unpacked."""
    size = f"{most_bytes // MIB} MiB" if most_bytes >= MIB else f"{most_bytes // KIB} KiB"
    return InputError("is too large", file=file, accepted=f"at most {size}")


def reason(error: Exception) -> str:
    """What the system says about ``error``, in one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]
