"""Parsers for the parameters that name what a command writes: a forbidden path is refused while the command
line is read.

In: a path on the command line. Out: the same path, once the rule of :mod:`torsweep.storage.folders` allows
it to be written; OutputError otherwise, before anything has been read, downloaded or computed.
"""

from __future__ import annotations

from pathlib import Path

from torsweep.storage.folders import FolderKind, require_file, require_writable


class OutputFolder:
    """A folder of one of ``kinds`` that the command writes, or adds to."""

    __name__ = "folder"

    def __init__(self, *kinds: FolderKind) -> None:
        self.kinds = kinds

    def __call__(self, value: str | Path) -> Path:
        """``value`` as a path. Raises OutputError when it may not be written."""
        path = Path(value)
        require_writable(path, *self.kinds)
        return path


class OutputFile:
    """A file that the command writes; one that is there has to have ``signature`` in it."""

    __name__ = "file"

    def __init__(self, signature: str) -> None:
        self.signature = signature

    def __call__(self, value: str | Path) -> Path:
        """``value`` as a path. Raises OutputError when it may not be written."""
        path = Path(value)
        require_file(path, self.signature)
        return path
