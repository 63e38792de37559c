"""Room on a disk, and what is said where there is none."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

NO_ROOM = "No space left on device"

FULL_BYTES = 1 << 16
"""With less room than this, a step of the pipeline cannot leave its log."""


def bytes_text(amount: int) -> str:
    """``1.2 GB``, ``450 MB``."""
    return f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{math.ceil(amount / 1e6)} MB"


def free_bytes(path: Path) -> int:
    """What is free on the disk of ``path``, which need not stand yet."""
    path = Path(os.path.abspath(path))
    return shutil.disk_usage(next(each for each in (path, *path.parents) if each.exists())).free


def no_room(path: Path) -> str:
    """That the disk of ``path`` is full, how much is free, and what to do."""
    return f"{NO_ROOM} ({free_bytes(path) // 1000} kB free): make room, then give the same command again"
