"""JSON files.

In: a path, or a text. Out: the object at its top. Refused besides invalid JSON: keys that stand twice,
``NaN`` and infinities, whole numbers beyond 64 bits, lone surrogates, what is nested too deep or too large.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from torsweep.errors import InputError
from torsweep.formats.files import MIB, MOST_INTEGER, read_bytes

MOST_JSON_BYTES = 64 * MIB
"""Tornettools' relays of a month have about 10 MiB."""

_MOST_DIGITS = 40


def read_json(file: Path, missing: str = "no such file", most_bytes: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """The object in ``file``; InputError, in the words of ``missing`` when there is no such file, and for one
    of more than ``most_bytes``."""
    return parse_json(read_bytes(file, most_bytes, missing), file)


def read_document(file: Path, file_format: str, version: int = 1) -> dict[str, Any]:
    """The JSON document in ``file``, which must call itself ``file_format`` of this ``version``."""
    return of_version(read_json(file), file, file_format, version)


def of_version(document: dict[str, Any], file: Path, file_format: str, version: int = 1) -> dict[str, Any]:
    """The ``document`` of ``file``; InputError unless it is ``file_format`` of this ``version``."""
    stated = f"{document.get('format')} {document.get('format_version')}"
    accepted = f"{file_format} {version}"
    if stated != accepted:
        raise InputError("is not the document expected here", file=file, value=stated, accepted=accepted)
    return document


def parse_json(content: bytes | str, file: Path) -> dict[str, Any]:
    """The object in ``content``, which came from ``file``; InputError when it is none."""
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        document = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole_number,
            parse_float=_finite_number,
            parse_constant=_no_number,
        )
        if not isinstance(document, dict):
            accepted = 'keys and values: {"key": …}'
            raise InputError("holds no JSON object", file=file, accepted=accepted)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"is no whole JSON file: {error.msg}, {where}", file=file) from None
    except RecursionError:
        raise InputError("is nested too deep", file=file) from None
    except UnicodeError:
        raise InputError("is not UTF-8 text", file=file) from None
    except ValueError as error:
        raise InputError(str(error), file=file) from None
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice[:_MOST_DIGITS]!r} stands twice in one object")
    return document


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or abs(int(digits)) > MOST_INTEGER:
        _no_number(digits)
    return int(digits)


def _finite_number(text: str) -> float:
    return number if math.isfinite(number := float(text)) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:_MOST_DIGITS]} is no number of 64 bits")
