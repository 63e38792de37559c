"""The bytes, the text or the JSON object of a file that a user or another file names.

In: a path; texts are plain or packed with gzip, bzip2 or xz. Out: what the file holds. Only regular files are
read: a pipe would never end. A document that is read as a whole has a largest size, above which it is taken
for another one.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from torsweep.errors import InputError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

MOST_INTEGER = 2**63 - 1
"""The largest whole number of a document: that of a signed integer of 64 bits."""


def require_regular(file: Path, missing: str = "no such file") -> int:
    """The size of the regular file ``file`` in bytes; InputError when there is none (its problem is
    ``missing``) or it is something else than a file."""
    try:
        state = file.stat()
    except FileNotFoundError:
        raise InputError(missing, file=file) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None
    if not stat.S_ISREG(state.st_mode):
        raise InputError(f"is {what_it_is(state.st_mode)}", file=file, accepted="a file")
    return state.st_size


def what_it_is(mode: int) -> str:
    """What a path of ``mode`` (``st_mode``) is, in words."""
    names = {stat.S_IFDIR: "a folder", stat.S_IFREG: "a file", stat.S_IFLNK: "a symbolic link"}
    return names.get(stat.S_IFMT(mode), "a pipe, a socket or a device")


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
    """The system's words for ``error``, in one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]


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


MOST_JSON_BYTES = 64 * MIB
"""Tornettools' relays of a month have about 10 MiB."""


def read_json(file: Path, missing: str = "no such file", most_bytes: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """The object in ``file``; InputError, with ``missing`` where there is no such file."""
    return parse_json(read_bytes(file, most_bytes, missing), file)


def read_document(file: Path, file_format: str) -> dict[str, Any]:
    """The JSON document in ``file``, which must call itself ``file_format`` of version 1."""
    return of_version(read_json(file), file, file_format)


def of_version(document: dict[str, Any], file: Path, file_format: str, version: int = 1) -> dict[str, Any]:
    """The ``document`` of ``file``; InputError unless it is ``file_format`` of this ``version``."""
    stated = f"{document.get('format')} {document.get('format_version')}"
    accepted = f"{file_format} {version}"
    if stated != accepted:
        raise InputError("is not the document expected here", file=file, value=stated, accepted=accepted)
    return document


def parse_json(content: bytes | str, file: Path) -> dict[str, Any]:
    """The JSON object in ``content``, which came from ``file``; InputError for anything else."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no whole JSON file: {error}", file=file) from None
    if not isinstance(document, dict):
        raise InputError("holds no JSON object", file=file, accepted='keys and values: {"key": …}')
    return document
