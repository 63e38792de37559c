"""The manifest of a folder: the file that is written last and holds the checksums of the others.

In: a folder that a stage of the pipeline made, and the name of its manifest. Out: what the manifest says, if
every file that it names is there and has not changed. A folder without its manifest is not finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.provenance import sha256_of_file

CHECKSUMS = "tables"
"""The key of the checksums in a manifest: the SHA-256 of each file by its name."""

NOT_FINISHED = "no such file: what is in its folder is not finished"


def with_checksums(document: Mapping[str, Any], folder: Path, files: Iterable[str]) -> dict[str, Any]:
    """``document`` and, under :data:`CHECKSUMS`, the SHA-256 of each of ``files`` in ``folder``."""
    return {**document, CHECKSUMS: {name: sha256_of_file(folder / name) for name in files}}


def with_table_checksums(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """:func:`with_checksums` of every Parquet file in ``folder``."""
    return with_checksums(document, folder, sorted(file.name for file in folder.glob("*.parquet")))


def verify_folder(folder: Path, manifest: str, missing: str = NOT_FINISHED) -> dict[str, Any]:
    """The content of ``folder``'s ``manifest`` without the checksums, all of which fit.

    Raises InputError when the manifest is missing (its problem is ``missing``) or no manifest, and when a
    file that it names is missing or has changed since: the message names the file and the folder.
    """
    document = read_json(folder / manifest, missing)
    checksums = document.pop(CHECKSUMS, None)
    if not isinstance(checksums, Mapping) or not checksums:
        raise InputError("has no checksums of its folder's files", file=folder / manifest, key=CHECKSUMS)
    for name, sha256 in checksums.items():
        file = folder / name
        if not file.is_file():
            raise changed_since("is missing", file, folder)
        if sha256_of_file(file) != sha256:
            raise changed_since(f"has changed: its SHA-256 is not the one in {manifest}", file, folder)
    return document


def changed_since(problem: str, file: Path, folder: Path) -> InputError:
    """What is said of a ``file`` that is not as it was when the stage that made ``folder`` ended."""
    return InputError(
        problem, file=file, accepted=f"the file as it was made; remove {folder} to have it made again"
    )
