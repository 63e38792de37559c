"""Text files: plain, gzip or xz, with the line ends of any system; tables in CSV.

In: a path. Out: lines, pieces, or all of a text; the lines of a table by column name. InputError when a file
cannot be read, is damaged, is no text, or holds a cell or a line that no such table has.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from torsweep.errors import InputError
from torsweep.formats.files import GIB, MIB, reason, require_regular, too_large

MOST_TEXT_BYTES = 2 * GIB
"""A text that is read line by line, unpacked."""

MOST_WHOLE_TEXT_BYTES = 256 * MIB
"""A text that has to be held as a whole: a consensus has 3 MiB, its server descriptors 30 MiB."""

MOST_LINE_CHARACTERS = 4 * MIB
"""A row of 20,000 latencies has less than 300 KiB."""

_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}


def text_lines(file: Path, most_bytes: int = MOST_TEXT_BYTES) -> Iterator[str]:
    """The lines of ``file``, without their ends; compression is told by the file's first bytes."""
    for line in _pieces(file, most_bytes, lambda opened: opened.readline(MOST_LINE_CHARACTERS + 1)):
        if len(line) > MOST_LINE_CHARACTERS:
            accepted = f"at most {MOST_LINE_CHARACTERS} characters"
            raise InputError("a line is too long", file=file, accepted=accepted)
        yield line.rstrip("\n")


def text_chunks(file: Path, characters: int) -> Iterator[str]:
    """``file`` in pieces of ``characters``, cut anywhere, with line ends as ``\\n``."""
    yield from _pieces(file, MOST_TEXT_BYTES, lambda opened: opened.read(characters))


def whole_text(file: Path) -> str:
    """All of ``file``. Raises InputError when it is empty, too."""
    text = "\n".join(text_lines(file, MOST_WHOLE_TEXT_BYTES))
    if not text.strip():
        raise InputError("is empty", file=file)
    return text


def _pieces(file: Path, most_bytes: int, piece: Any) -> Iterator[str]:
    read = 0
    with _opened(file) as opened:
        while found := piece(opened):
            read += len(found)
            if read > most_bytes:
                raise too_large(file, most_bytes)
            yield found


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """``file``, unpacked; whatever keeps it from being read, then or later, is an InputError."""
    require_regular(file, MOST_TEXT_BYTES)
    try:
        with file.open("rb") as raw:
            opener: Any = _OPENERS.get(raw.read(2), open)
        with opener(file, "rt", encoding="utf-8-sig", newline=None) as opened:
            yield opened
    except UnicodeDecodeError:
        accepted = "text in UTF-8, plain, gzip or xz"
        raise InputError("is not UTF-8 text", file=file, accepted=accepted) from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
        raise InputError("is cut off or damaged: its compressed data end early", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", file=file) from None


def csv_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and cells by column name of a table that has at least ``columns``, each once."""
    reader = csv.DictReader(text_lines(file), skipinitialspace=True, strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or []]
        if not names:
            raise InputError("is empty", file=file, accepted=f"a CSV with {', '.join(columns)}")
        if not set(columns) <= set(names) or len(set(names)) < len(names):
            accepted = f"{', '.join(columns)}, each column once"
            raise InputError("columns are missing or stand twice", file=file, value=names, accepted=accepted)
        reader.fieldnames = names
        for row in reader:
            if any(row[name] is None for name in columns):
                raise InputError("a line is cut off", file=file, key=f"line {reader.line_num}")
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"is no CSV table: {error}", file=file, key=f"line {reader.line_num}") from None


def number(text: str, file: Path, line: int, column: str, most: float) -> float:
    """The cell ``text`` as a number from 0 to ``most``; InputError otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        key = f"line {line}, {column}"
        raise InputError("is no number in range", file=file, key=key, value=text, accepted=f"0 to {most:g}")
    return value
