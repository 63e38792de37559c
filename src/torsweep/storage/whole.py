"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import OutputError
from torsweep.storage.folders import Kind, files_of, require_plain, require_replaceable, write_marker
from torsweep.storage.leftovers import held, is_temporary, old_name, temporary_file, temporary_folder


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced and renamed to ``path``.

    On any error the temporary file is removed and what stood at ``path`` stays. A full disk, a folder that
    cannot be written, and a ``path`` that is no file or is write-protected become an :class:`OutputError`
    that names ``path``; an error about another file, such as one that the body reads, passes through.
    """
    require_plain(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path) as temporary:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
    except OSError as error:
        raise _blame(path, error) from error


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` as a whole (see :func:`whole_file`)."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def whole_directory(path: Path, kind: Kind) -> Iterator[Path]:
    """Yield an empty temporary directory; on success it becomes ``path``, marked as of ``kind``.

    It takes the place of nothing, of an empty folder, or of a folder of ``kind`` that holds what torsweep
    wrote and nothing else (:mod:`torsweep.storage.folders`). Errors are those of :func:`whole_file`.
    """
    path = Path(os.path.abspath(path))
    require_replaceable(path, kind)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(path) as temporary:
            yield temporary
            write_marker(temporary, kind, files_of(temporary))
            require_replaceable(path, kind)
            _replace(path, temporary)
    except OSError as error:
        raise _blame(path, error) from error


def _replace(path: Path, temporary: Path) -> None:
    """Rename ``temporary`` to ``path``; a folder there is removed, or stays when that fails."""
    try:
        # The kernel renames a folder to a free name or over an empty folder only.
        temporary.replace(path)
        return
    except OSError:
        if not path.is_dir():
            raise
    old = old_name(temporary)
    with held(path):
        path.replace(old)
        try:
            temporary.replace(path)
        except OSError:
            old.replace(path)
            raise
        shutil.rmtree(old)


def _blame(path: Path, error: OSError) -> OSError | OutputError:
    """``error`` as one about writing ``path``, or itself when it names a file that is not in its way."""
    named = Path(os.fsdecode(error.filename)) if error.filename else path
    temporary = any(is_temporary(part) and part.endswith(f"-{path.name}") for part in named.parts)
    if named == path or named in path.parents or temporary:
        return OutputError(f"{path}: cannot be written: {error.strerror or error}")
    return error
