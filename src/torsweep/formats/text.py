"""Text files of others: plain, gzip or xz, with the line ends of any system.

In: a path. Out: its lines, pieces of it, or all of it; InputError when it cannot be read, is damaged, is no
text, or has a line or a length that no such file has.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from torsweep.errors import InputError
from torsweep.formats.files import reason, require_regular, size
from torsweep.formats.limits import (
    MOST_LINE_CHARACTERS,
    MOST_PARQUET_BYTES,
    MOST_TEXT_BYTES,
    MOST_WHOLE_TEXT_BYTES,
)

_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}
_OTHER_PACKINGS = {
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf": "7z",
}
_TAR_MARK = slice(257, 262)
_NOT_UTF_8 = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def text_lines(file: Path, most_bytes: int = MOST_TEXT_BYTES) -> Iterator[str]:
    """The lines of ``file``, without their ends; compression is told by the file's first bytes."""
    read = 0
    with _opened(file) as opened:
        while line := opened.readline(MOST_LINE_CHARACTERS + 1):
            read += len(line)
            if len(line) > MOST_LINE_CHARACTERS:
                accepted = f"at most {MOST_LINE_CHARACTERS} characters"
                raise InputError("a line is too long", file=file, accepted=accepted)
            if read > most_bytes:
                raise _too_large(file, most_bytes)
            yield line.rstrip("\n")


def text_chunks(file: Path, characters: int, most_bytes: int = MOST_TEXT_BYTES) -> Iterator[str]:
    """``file`` in pieces of ``characters``, cut anywhere, with line ends as ``\\n``."""
    read = 0
    with _opened(file) as opened:
        while chunk := opened.read(characters):
            read += len(chunk)
            if read > most_bytes:
                raise _too_large(file, most_bytes)
            yield chunk


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """``file``, unpacked; whatever keeps it from being read, then or later, is an InputError."""
    require_regular(file, MOST_PARQUET_BYTES)
    try:
        with _opener(file)(file, "rt", encoding="utf-8-sig", newline=None) as opened:
            yield opened
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=file) from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
        raise InputError("is cut off or damaged: its compressed data end early", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


def _too_large(file: Path, most_bytes: int) -> InputError:
    return InputError("is too large", file=file, accepted=f"at most {size(most_bytes)}")


def _opener(file: Path) -> Any:
    with file.open("rb") as raw:
        start = raw.read(_TAR_MARK.stop)
    if start[_TAR_MARK] == b"ustar":
        raise InputError("is a tar archive", file=file, accepted="text: unpack it first")
    for magic, packing in _OTHER_PACKINGS.items():
        if start.startswith(magic):
            raise InputError(
                f"is packed with {packing}", file=file, accepted="plain text, gzip or xz: unpack it first"
            )
    for magic, encoding in _NOT_UTF_8.items():
        if start.startswith(magic):
            raise InputError(f"is {encoding} text", file=file, accepted="UTF-8")
    return _OPENERS.get(start[:2], open)


def whole_text(file: Path) -> str:
    """All of ``file``. Raises InputError when it is empty, too."""
    text = "\n".join(text_lines(file, MOST_WHOLE_TEXT_BYTES))
    if not text.strip():
        raise InputError("is empty", file=file)
    return text
