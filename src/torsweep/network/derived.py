"""Where the sampler's tables are: derived ones in ``topologies/``, or a file of the user's own.

In: a :class:`~torsweep.config.network.Source`. Out: the path of its table, its content and checksum.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from torsweep.config.network import Source
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json

TOPOLOGIES = Path("topologies")
_PROJECT = Path(__file__).parents[3]


def source_path(source: Source, kind: str, file_name: str) -> Path:
    """The file that ``source`` names.

    ``kind`` is the folder of ``topologies/`` that holds derived tables of this sort, ``file_name``
    what an importer calls its result, so that the importer's output folder can be named too. The
    project's folder is looked for in the current directory first, then where torsweep stands.
    """
    suffix = Path(file_name).suffix
    if source.file is not None:
        path = source.file / file_name if source.file.is_dir() else source.file
        if not path.is_file():
            raise InputError("no such file", file=path, accepted=f"a {file_name} made by torsweep")
        return path
    folders = [base / kind for base in (TOPOLOGIES, _PROJECT / TOPOLOGIES)]
    for folder in folders:
        path = folder / f"{source.name}{suffix}"
        if path.is_file():
            return path
    names = sorted({file.stem for folder in folders for file in folder.glob(f"*{suffix}")})
    raise InputError(
        f"no derived table of this name under {TOPOLOGIES / kind}",
        key=kind,
        value=source.name,
        accepted=", ".join(names) or f"start torsweep where {TOPOLOGIES} is, or give {{file: PATH}}",
    )


def read_document(path: Path, file_format: str) -> dict[str, Any]:
    """The JSON document in ``path``, which must call itself ``file_format``, version 1."""
    document = read_json(path)
    named = document.get("format")
    if named != file_format or document.get("format_version") != 1:
        raise InputError(
            "is not the table expected here", file=path, key="format", value=named, accepted=file_format
        )
    return document


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
