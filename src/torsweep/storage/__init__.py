"""Files and folders that appear whole or not at all, and the manifest of what a stage has finished.

What torsweep may write is said by :mod:`torsweep.storage.folders`.

In: the path of a result. Out: a hidden temporary beside it, which takes its place at the end. A killed
process leaves its temporary behind; nothing reads one. A manifest is the file of a folder that is written
last, with the checksums of the others: a folder without it is not finished.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torsweep.errors import InputError, OutputError, TorsweepError
from torsweep.formats.files import read_json
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import (
    FolderKind,
    files_of,
    is_temporary,
    require_plain,
    require_replaceable,
    temporary_beside,
    write_marker,
)

NO_ROOM = "No space left on device"

FULL_BYTES = 1 << 16
"""With less room than this, a step of the pipeline cannot leave its log."""


def bytes_text(amount: int) -> str:
    """``1.2 GB``, ``450 MB``."""
    return f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{math.ceil(amount / 1e6)} MB"


def free_bytes(path: Path) -> int:
    """Free bytes on the disk of ``path``, which need not exist yet."""
    path = Path(os.path.abspath(path))
    return shutil.disk_usage(next(each for each in (path, *path.parents) if each.exists())).free


def no_room(path: Path) -> str:
    """That the disk of ``path`` is full, how much is free, and what to do."""
    return f"{NO_ROOM} ({free_bytes(path) // 1000} kB free): make room, then give the same command again"


@contextlib.contextmanager
def full_disk_blamed(folder: Path) -> Iterator[None]:
    """If the disk of ``folder`` is full, raise OutputError that says so, whichever error came first."""
    try:
        yield
    except (TorsweepError, OSError) as error:
        if free_bytes(folder) < os.statvfs(folder).f_frsize and not isinstance(error, OutputError):
            raise OutputError(f"{folder}: {no_room(folder)}") from error
        raise


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced and renamed to ``path``.

    On any error the temporary file is removed and what stood at ``path`` stays. A full disk, a folder that
    cannot be written, and a ``path`` that is no file or is write-protected become an :class:`OutputError`
    that names ``path``; an error about another file, such as one that the body reads, passes through.
    """
    require_plain(path)
    temporary = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except Exception as error:
        _blame(path, error)
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` as a whole (see :func:`whole_file`); InputError for a text with the name of
    a file that is not UTF-8."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        wrong = next(word for word in text.split() if error.object[error.start] in word)
        raise InputError("is no name in UTF-8", value=wrong, accepted="another name") from None
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def whole_directory(path: Path, kind: FolderKind) -> Iterator[Path]:
    """Yield an empty temporary directory; on success it becomes ``path``, marked as of ``kind``.

    It takes the place of nothing, of an empty folder, or of a folder of ``kind`` that holds what torsweep
    wrote and nothing else (:mod:`torsweep.storage.folders`). Errors are those of :func:`whole_file`.
    """
    path = Path(os.path.abspath(path))
    require_replaceable(path, kind)
    temporary = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        write_marker(temporary, kind, files_of(temporary))
        require_replaceable(path, kind)
        _replace(path, temporary)
    except Exception as error:
        _blame(path, error)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace(path: Path, temporary: Path) -> None:
    """Rename ``temporary`` to ``path``; a folder there is removed, or stays when that fails."""
    if not path.is_dir():
        temporary.replace(path)
        return
    old = temporary_beside(path)
    path.replace(old)
    try:
        temporary.replace(path)
    except OSError:
        old.replace(path)
        raise
    shutil.rmtree(old)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _blame(path: Path, error: Exception) -> None:
    """Raise OutputError where ``error`` is one about writing ``path``, and not about another file."""
    if isinstance(error, OSError):
        named = Path(os.fsdecode(error.filename)) if error.filename else path
        temporary = any(is_temporary(part) and part.endswith(f"-{path.name}") for part in named.parts)
        ours = named == path or named in path.parents or temporary
        code, why = error.errno, (error.strerror or str(error)) if ours else ""
    else:
        # polars gives a full disk as an error of its own, which ends in the number of the system's.
        told = re.search(r"\(os error (\d+)\)", str(error))
        code = int(told[1]) if told else None
        why = os.strerror(code) if code in _NO_ROOM else ""
    if why:
        why = no_room(path) if code == errno.ENOSPC else why
        raise OutputError(f"{path}: cannot be written: {why}") from error


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

    InputError when the manifest is missing (its problem is ``missing``) or no manifest; and, naming file and
    folder, when a file of it is missing or has changed since.
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
    """The refusal of a ``file`` that has changed since the stage that made ``folder`` ended."""
    return InputError(
        problem, file=file, accepted=f"the file as it was made; remove {folder} to have it made again"
    )
