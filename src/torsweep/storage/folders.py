"""The one rule about what torsweep writes.

In: a path and the kind of folder a command is to leave there. Out: that folder, marked, or an OutputError
with nothing touched. torsweep writes only to a path that does not exist, to an empty folder, or to a folder
with the marker of the same kind: never to a file, a link, a device or another user's folder.

The marker ``.torsweep`` names the kind and, in a folder that is replaced as a whole, every file that torsweep
put there: one that holds anything else is not replaced. One process at a time writes into a folder: it has
the kernel's lock (flock) on its ``.lock`` file, so a killed process leaves none behind; cellsim takes the
same one on a run directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from torsweep.errors import OutputError
from torsweep.formats.files import what_it_is

if TYPE_CHECKING:
    from filelock import FileLock

MARKER = ".torsweep"
_FORMAT = "torsweep-folder"
_TEMPORARY = re.compile(r"\.torsweep-[a-z0-9_]{8}-.+", re.DOTALL)
_NOT_COUNTED = re.compile(r"\.snakemake_timestamp|\.nfs.*")


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder: its name in the marker, and what a message calls it. ``later`` is a pattern of the
    paths, relative to it, of files that may come into it after the marker has been written."""

    name: str
    what: str
    later: str = "(?!)"


NETWORK_FOLDER = FolderKind("network", "a network")
LATENCIES_FOLDER = FolderKind("latencies", "imported latencies")
BANDWIDTHS_FOLDER = FolderKind("bandwidths", "imported bandwidths")
RELAYS_FOLDER = FolderKind("relays", "imported relays")
RUN_FOLDER = FolderKind("run", "a run")
TABLES_FOLDER = FolderKind("tables", "tables")
SUMMARIES_FOLDER = FolderKind("summaries", "summaries")
FIGURES_FOLDER = FolderKind("figures", "figures")
PUBLISHED_FOLDER = FolderKind("published", "a published result")
IMPORT_FOLDER = FolderKind("import", "imported simulations")
STUDY_FOLDER = FolderKind("study", "a study")
TOOLS_FOLDER = FolderKind("tools", "builds of tor")
TOR_BUILD_FOLDER = FolderKind("tor build", "a build of tor", r"keys/.*")
KEYS_FOLDER = FolderKind(
    "keys", "keys", r"(.*/)?(\.lock|authority_[a-z_]+|fingerprint[a-z0-9.-]*|torrc|lock|state|cached-[^/]+)"
)

EXPERIMENT_FILE = "experiment.yaml"
README_FILE = "README.md"
PAGE_FILE = "report.html"
SUMS_FILE = "SHA256SUMS"
"""Files of a published result beside its tables, summaries and figures."""


def require_writable(path: Path, *kinds: FolderKind) -> None:
    """Raise OutputError, which says why, when a folder of ``kinds`` may not be written to ``path``."""
    state = _state(path)
    if state is None:
        return
    if not stat.S_ISDIR(state.st_mode):
        _refuse(path, f"is {what_it_is(state.st_mode)}", kinds)
    try:
        # Snakemake makes the folders of a step's outputs before the step.
        file = next((name for name in _files(path) if not (path / name).is_dir()), None)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    if file is None:
        return
    marker = _read_marker(path)
    if marker is None:
        _refuse(path, f"holds {file}, which torsweep did not write", kinds)
    elif marker["kind"] not in {kind.name for kind in kinds}:
        _refuse(path, f"holds something else of torsweep's ({marker['kind']})", kinds)


def require_replaceable(path: Path, kind: FolderKind) -> None:
    """:func:`require_writable`, and all in ``path`` was written by torsweep and is not write-protected."""
    require_writable(path, kind)
    if _state(path) is None:
        return
    here = Path.cwd()
    if here == path.resolve() or path.resolve() in here.parents:
        _refuse(path, "is where this command runs", (kind,))
    written = frozenset((_read_marker(path) or {}).get("files", ()))
    for name in _files(path):
        if not (name in written or re.fullmatch(kind.later, name)):
            _refuse(path, f"holds {name}, which torsweep did not write", (kind,))
        if not (path / name).lstat().st_mode & 0o222:
            raise OutputError(f"{path / name}: is write-protected")


def own_folder(path: Path, *kinds: FolderKind) -> None:
    """Make ``path`` if need be, and mark it as torsweep's, of the first of ``kinds``; OutputError when the
    rule of this module forbids it, or the folder cannot be written."""
    require_writable(path, *kinds)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if _read_marker(path) is None:
            write_marker(path, kinds[0])
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def write_marker(folder: Path, kind: FolderKind, files: tuple[str, ...] = ()) -> None:
    """Mark ``folder`` as torsweep's; ``files`` are what it put there, where it is replaced as a whole."""
    document = {"format": _FORMAT, "format_version": 1, "kind": kind.name, "files": files}
    temporary = temporary_beside(folder / MARKER)
    temporary.write_text(json.dumps(document) + "\n", encoding="utf-8")
    temporary.replace(folder / MARKER)


def temporary_beside(path: Path) -> Path:
    """A new name beside ``path``, hidden and with its suffix."""
    return path.with_name(f".torsweep-{secrets.token_hex(4)}-{path.name}")


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is a temporary of torsweep's."""
    return _TEMPORARY.fullmatch(name) is not None


def files_of(folder: Path) -> tuple[str, ...]:
    """Paths, relative to ``folder``, of all that it holds: files, and folders that are empty."""
    return tuple(sorted(_files(folder)))


def require_plain(path: Path) -> None:
    """Raise OutputError unless ``path`` does not exist or is a regular file that is not write-protected."""
    state = _state(path)
    if state is None:
        return
    if not stat.S_ISREG(state.st_mode):
        raise OutputError(f"{path}: is {what_it_is(state.st_mode)}; accepted: a new file")
    if not state.st_mode & 0o222:
        raise OutputError(f"{path}: is write-protected")


class OutputFolder:
    """Parser of a command's parameter: a folder of one of ``kinds``, refused before anything is computed."""

    __name__ = "folder"

    def __init__(self, *kinds: FolderKind) -> None:
        self.kinds = kinds

    def __call__(self, value: str | Path) -> Path:
        """``value`` as a path. Raises OutputError when it may not be written."""
        path = Path(value)
        require_writable(path, *self.kinds)
        return path


def _refuse(path: Path, why: str, kinds: tuple[FolderKind, ...]) -> NoReturn:
    accepted = f"a new or empty folder, or one in which torsweep has written {kinds[0].what}"
    raise OutputError(f"{path}: {why}; accepted: {accepted}")


def _state(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {getattr(error, 'strerror', error)}") from None


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """The content of the marker; None if there is none, or if another file has its name."""
    try:
        document = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return document if document["format"] == _FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _files(folder: Path) -> Iterator[str]:
    """Relative paths of what is in ``folder`` but markers and temporaries: files, links, empty folders."""
    for place, names, files in os.walk(folder, onerror=_raise):
        names[:] = [name for name in names if not is_temporary(name)]
        links = [name for name in names if os.path.islink(os.path.join(place, name))]
        below = os.path.relpath(place, folder)
        for name in (*files, *links):
            path = os.path.normpath(os.path.join(below, name))
            if not (is_temporary(name) or _NOT_COUNTED.fullmatch(name) or path == MARKER):
                yield path
        if not names and not files and below != ".":
            yield below


def _raise(error: OSError) -> None:
    raise error


_held: list[FileLock] = []
"""Locks that this process keeps until it ends."""


def hold_folder(folder: Path) -> None:
    """Claim ``folder`` for this process until it ends, however it ends; OutputError when the folder cannot be
    written, or another process holds it."""
    lock, is_ours = _try_lock(folder)
    if not is_ours:
        holder = Path(lock.lock_file).read_text(errors="replace").strip()
        whose = f" (process {holder})" if holder else ""
        raise OutputError(f"{folder}: in use by another run of the pipeline{whose}; wait for its end")
    Path(lock.lock_file).write_text(f"{os.getpid()}\n")
    _held.append(lock)


@contextlib.contextmanager
def folder_claimed(folder: Path, kind: FolderKind, *, wait: bool) -> Iterator[None]:
    """Claim ``folder``, of ``kind``, for the block; when another process has it, ``wait`` for it or refuse.
    OutputError when the folder may not or cannot be written, or is in use and ``wait`` is false."""
    own_folder(folder, kind)
    lock, is_ours = _try_lock(folder)
    if not is_ours:
        if not wait:
            raise OutputError(f"{folder}: another run is under way in this folder; wait for its end")
        print(f"{folder}: waiting for the run that is under way", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _try_lock(folder: Path) -> tuple[FileLock, bool]:
    """The lock of ``folder``, and whether it was free and is now held; OutputError when that cannot be."""
    # It loads asyncio, which `torsweep --help` would wait for.
    from filelock import FileLock, Timeout

    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is no folder; results go there")
    require_plain(folder / ".lock")
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return lock, False
    except OSError as error:
        raise OutputError(f"{folder}: results cannot be written there: {error.strerror}") from None
    return lock, True
