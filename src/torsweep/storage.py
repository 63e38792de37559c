"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import OutputError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced and renamed to ``path``.

    On any error the temporary file is removed and what stood at ``path`` stays. A full disk or a
    folder that cannot be written becomes an :class:`OutputError` that names ``path``; an error about
    another file, such as one that the body reads, passes through.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise _blame(path, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` as a whole (see :func:`whole_file`)."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Yield an empty temporary directory; on success it becomes ``path``, replacing what stood there.

    Errors are those of :func:`whole_file`.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        temporary.chmod(0o755)
        yield temporary
        if path.exists():
            # Two renames, so that no moment of some length goes by in which neither is whole.
            old = temporary.with_name(f"{temporary.name}.old")
            path.replace(old)
            temporary.replace(path)
            shutil.rmtree(old)
        else:
            temporary.replace(path)
    except OSError as error:
        raise _blame(path, error) from error
    finally:
        if temporary is not None and temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def _blame(path: Path, error: OSError) -> OSError | OutputError:
    """``error`` as one about writing ``path``, or itself when it names a file that is not in its way."""
    named = Path(os.fsdecode(error.filename)) if error.filename else path
    temporary = any(part.startswith(f".{path.name}.") for part in named.parts)
    if named == path or named in path.parents or temporary:
        return OutputError(f"{path}: cannot be written: {error.strerror or error}")
    return error
