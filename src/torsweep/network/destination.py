"""Folders that a command may replace.

In: the folder a command was told to write. Out: a folder that appears whole, and only in the place of
nothing, of an empty folder, or of what the same command wrote before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from torsweep.errors import InputError
from torsweep.storage import whole_directory


@contextlib.contextmanager
def replaced_directory(path: Path, marker: str) -> Iterator[Path]:
    """As :func:`~torsweep.storage.whole_directory`, for a folder whose main file is ``marker``.

    Raises InputError when ``path`` holds something, but no ``marker``: it is somebody's other work.
    """
    if path.is_dir() and any(path.iterdir()) and not (path / marker).is_file():
        accepted = f"a new or empty folder, or one with a {marker}"
        raise InputError("holds other files and will not be replaced", file=path, accepted=accepted)
    with whole_directory(path) as temporary:
        yield temporary
