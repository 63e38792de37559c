"""Summaries carry the checksums of their files, and are read only while these fit.

In: a folder of summaries or of a comparison, and the JSON file in it that says where the numbers come from.
Out: that file's content with the checksums of the others; InputError when one of them has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.provenance import damaged_table, sha256_of_file
from torsweep.stats.files import PLAN_FILE

KEY = "tables"
"""The key of the checksums, the same as in the provenance.json of runs and tables."""

NO_SUMMARIES = "no such file: run `torsweep results summarize` first"


def with_checksums(document: Mapping[str, Any], folder: Path, files: Iterable[str]) -> dict[str, Any]:
    """``document`` and, under :data:`KEY`, the SHA-256 of each of ``files`` in ``folder``."""
    return {**document, KEY: {name: sha256_of_file(folder / name) for name in files}}


def read_whole(file: Path, missing: str, made_by: str) -> dict[str, Any]:
    """The content of ``file`` without the checksums, all of which fit.

    Raises InputError when ``file`` is missing (its problem is ``missing``) or a file beside it is not as
    ``made_by`` left it.
    """
    document = read_json(file, missing)
    damage = damaged_table(file.parent, document.pop(KEY, None), file.name)
    if damage:
        raise InputError(
            f"is not as it was made: {damage}", file=file.parent, accepted=f"what {made_by} writes"
        )
    return document


def read_plan(summaries: Path) -> dict[str, Any]:
    """plan.json in the folder ``summaries``, all files of which are as they were made; else InputError."""
    return read_whole(summaries / PLAN_FILE, NO_SUMMARIES, "`torsweep results summarize`")
