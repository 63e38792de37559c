"""What can be damaged, and the command that reads it.

In: nothing. Out: :class:`Target`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A file that a command reads: ``make`` writes the folder ``in``, ``file`` is what is damaged.

    ``arguments`` are torsweep's, with ``{in}`` and ``{out}`` for the folders; ``marker`` is the file of an
    output that is whole. ``reseal`` is called with the folder after the damage, where a checksum would hide
    what lies behind it. ``codes`` are the exit codes that the command may end with. ``sealed``: any other
    byte has to be found, so that 0 is right for the whole document alone.
    """

    name: str
    file: str
    kinds: tuple[str, ...]
    arguments: tuple[str, ...]
    make: Callable[[Path], None]
    marker: str | None = None
    reseal: Callable[[Path], None] | None = None
    codes: tuple[int, ...] = (0, 2)
    sealed: bool = False
