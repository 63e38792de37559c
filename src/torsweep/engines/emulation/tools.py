"""The programs that an emulation runs: tor with the patch series, and the link emulator.

In: the folder of tor's builds, PATH. Out: :class:`Tools`, or a ToolMissing that says how to get what is
missing.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import ToolMissing
from torsweep.tor.build import BuiltTor, find_build


@dataclass(frozen=True)
class Tools:
    """A build of tor, and the path of the link emulator."""

    tor: BuiltTor
    linkem: Path


def find_tools(builds: Path) -> Tools:
    """Both programs; ToolMissing for the first that is not there."""
    return Tools(find_build(builds), require_linkem())


def require_linkem() -> Path:
    """The program linkem; ToolMissing when it is not there."""
    linkem = find_linkem()
    if linkem is None:
        raise ToolMissing(
            f"linkem: not on PATH, nor beside {Path(sys.executable).name}; `make setup` builds it"
        )
    return linkem


def find_linkem() -> Path | None:
    """The program linkem: on PATH, or beside the Python that is running; None when in neither."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("linkem") or shutil.which("linkem", path=beside)
    return Path(found) if found else None
