"""Text files: plain or packed with gzip, bzip2 or xz, with the line ends of any system.

In: a path. Out: lines, or all of a text. InputError when a file cannot be read, is damaged or is no
text.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from torsweep.errors import InputError
from torsweep.formats.files import MIB, reason, require_regular, too_large

MOST_WHOLE_TEXT_BYTES = 256 * MIB
"""A text that has to be held as a whole: tornettools' relays of a month have about 10 MiB."""

_UNPACKERS = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open, b"BZ": bz2.open}


def text_lines(file: Path) -> Iterator[str]:
    """The lines of ``file``, without their ends; compression is told by the file's first bytes."""
    with _opened(file) as opened:
        for line in opened:
            yield line.rstrip("\n")


def whole_text(file: Path) -> str:
    """All of ``file``. Raises InputError when it is empty, too."""
    with _opened(file) as opened:
        text = opened.read(MOST_WHOLE_TEXT_BYTES + 1)
    if len(text) > MOST_WHOLE_TEXT_BYTES:
        raise too_large(file, MOST_WHOLE_TEXT_BYTES)
    if not text.strip():
        raise InputError("is empty", file=file)
    return text


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of ``file``, unpacked; whatever keeps it from being read, then or later, is an InputError."""
    require_regular(file)
    try:
        with file.open("rb") as raw:
            opener: Any = _UNPACKERS.get(raw.read(2), open)
        with opener(file, "rb") as opened:
            yield opened
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
        raise InputError("is cut off or damaged: its compressed data end early", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """``file`` as text, unpacked; errors are those of :func:`unpacked`, and for what is no UTF-8."""
    try:
        with unpacked(file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline=None) as opened:
            yield opened
    except UnicodeDecodeError:
        accepted = "text in UTF-8, plain or packed with gzip, bzip2 or xz"
        raise InputError("is not UTF-8 text", file=file, accepted=accepted) from None
