"""JSON files.

In: a path, or a text. Out: the object at its top. Refused beside what is no JSON: keys that stand twice,
``NaN`` and infinities, whole numbers beyond 64 bits, lone surrogates, what is nested too deep or too large.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from torsweep.errors import InputError
from torsweep.formats.files import read_bytes
from torsweep.formats.limits import MOST_INTEGER, MOST_JSON_BYTES, MOST_JSON_DEPTH

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[\[\]{}]")
_MOST_DIGITS = 40


def read_json(file: Path, missing: str = "no such file") -> dict[str, Any]:
    """The object in ``file``; InputError, in the words of ``missing`` when there is no such file."""
    return parse_json(read_bytes(file, MOST_JSON_BYTES, missing), file)


def parse_json(content: bytes | str, file: Path) -> dict[str, Any]:
    """The object in ``content``, which came from ``file``; InputError when it is none."""
    text = _decoded(content, file) if isinstance(content, bytes) else content
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole_number,
            parse_float=_finite_number,
            parse_constant=_no_number,
        )
    except RecursionError:
        raise _too_deep(file) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"is no whole JSON file: {error.msg}, {where}", file=file) from None
    except ValueError as error:
        raise InputError(str(error), file=file) from None
    if _depth(text) > MOST_JSON_DEPTH:
        raise _too_deep(file)
    if not isinstance(document, dict):
        raise InputError(
            "holds no JSON object", file=file, value=document, accepted='keys and values: {"key": …}'
        )
    if "\\ud" in text.lower():
        _check_characters(document, file)
    return document


def _decoded(content: bytes, file: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=file) from None


def _too_deep(file: Path) -> InputError:
    return InputError("is nested too deep", file=file, accepted=f"at most {MOST_JSON_DEPTH} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice[:_MOST_DIGITS]!r} stands twice in one object")
    return found


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or abs(int(digits)) > MOST_INTEGER:
        raise ValueError(f"a number is beyond 64 bits: {_short(digits)}")
    return int(digits)


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"a number is too large: {_short(text)}")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _short(text: str) -> str:
    return text if len(text) <= _MOST_DIGITS else text[:_MOST_DIGITS] + "…"


def _depth(text: str) -> int:
    deepest = level = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _check_characters(document: dict[str, Any], file: Path) -> None:
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            "holds half of a character (a lone surrogate)", file=file, accepted="UTF-8 text"
        ) from None
