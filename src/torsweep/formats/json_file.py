"""JSON files.

In: a path, or a text. Out: the object at its top.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes

MOST_JSON_BYTES = 64 * MIB
"""Tornettools' relays of a month have about 10 MiB."""


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
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no whole JSON file: {error}", file=file) from None
    if not isinstance(document, dict):
        raise InputError("holds no JSON object", file=file, accepted='keys and values: {"key": …}')
    return document
