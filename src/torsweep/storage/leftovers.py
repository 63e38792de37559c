"""Temporary files and folders: their names, and the removal of those whose process was killed.

In: the path of a result. Out: a hidden temporary beside it that this process holds by the kernel's lock
(flock). A temporary that no process holds, and that is older than this process, belonged to a process that
was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path

_PREFIX = ".torsweep-"
_NAME = re.compile(r"\.torsweep-[a-z0-9_]{8}-(?P<result>.+?)(?P<old>\.old)?", re.DOTALL)
_STARTED = time.time()


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is a temporary of torsweep's."""
    return _NAME.fullmatch(name) is not None


@contextlib.contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """An empty file in the folder of ``path``, with its suffix; removed at the end if it is still there."""
    sweep(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_PREFIX, suffix=f"-{path.name}")
    try:
        _lock(handle)
        yield Path(name)
    finally:
        os.close(handle)
        Path(name).unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside ``path``; whatever is left of it at the end is removed."""
    sweep(path.parent)
    folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=_PREFIX, suffix=f"-{path.name}"))
    try:
        with held(folder):
            folder.chmod(0o755)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep :func:`sweep` of other processes away from ``folder``, under whatever name it stands."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def old_name(temporary: Path) -> Path:
    """Where the folder stands for a moment that ``temporary`` replaces."""
    return temporary.with_name(f"{temporary.name}.old")


def sweep(folder: Path) -> None:
    """Remove what killed processes left in ``folder``; a folder that was about to be replaced is put back."""
    for entry in _entries(folder):
        match = _NAME.fullmatch(entry.name)
        if match is None or not _abandoned(Path(entry.path)):
            continue
        result = folder / match["result"]
        with contextlib.suppress(OSError):
            if match["old"] and not os.path.lexists(result):
                os.rename(entry.path, result)
            elif entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def sweep_tree(folder: Path, but: Collection[str] = ()) -> None:
    """:func:`sweep` in ``folder`` and all below it, links not followed, folders named ``but`` left out."""
    for place, names, _ in os.walk(folder):
        sweep(Path(place))
        names[:] = [name for name in names if name not in but and not is_temporary(name)]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _abandoned(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        old = path.name.endswith(".old")
        if not old and os.fstat(descriptor).st_mtime >= _STARTED:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lock(descriptor: int) -> None:
    # A file system without locks has no sweep either: see _abandoned.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
