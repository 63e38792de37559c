"""The programs in Rust that ``make setup`` builds: on PATH, or beside the Python that is running.

In: a name. Out: a path, or a ToolMissing.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from torsweep.errors import ToolMissing


def find_own_program(name: str) -> Path | None:
    """The program ``name``: on PATH, or beside the Python that is running; None when in neither."""
    program = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    return Path(program) if program else None


def require_own_program(name: str) -> Path:
    """The program ``name``; ToolMissing when it is not there."""
    program = find_own_program(name)
    if program is None:
        raise ToolMissing(
            f"{name}: not on PATH, nor beside {Path(sys.executable).name}; `make setup` builds it"
        )
    return program
