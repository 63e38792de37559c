"""Text files as they come: plain, gzip or xz.

In: a path. Out: its lines; InputError when it cannot be read, is damaged or is no text.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torsweep.errors import InputError

_OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}


def text_lines(path: Path) -> Iterator[str]:
    """The lines of ``path``, without their ends; compression is told by the file's first bytes."""
    try:
        with path.open("rb") as raw:
            opener: Any = _OPENERS.get(raw.read(2), open)
        with opener(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except UnicodeDecodeError:
        raise InputError("is not text", file=path) from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
        raise InputError("is cut off or damaged: its compressed data end early", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


def whole_text(path: Path) -> str:
    """All of ``path``. Raises InputError when it is empty, too."""
    text = "\n".join(text_lines(path))
    if not text.strip():
        raise InputError("is empty", file=path)
    return text
