"""The programs that an emulation runs: tor with the patch series, and the link emulator.

In: the folder of tor's builds, PATH. Out: :class:`Tools`, or a ToolMissing that says how to get what is
missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.tools import find_own_program, require_own_program
from torsweep.tor.build import BuiltTor, find_build


@dataclass(frozen=True)
class Tools:
    """A build of tor, and the path of the link emulator."""

    tor: BuiltTor
    linkem: Path


def find_tools(builds: Path, tor_build: str | None = None) -> Tools:
    """Both programs, tor of the build asked for; ToolMissing for the first that is not there."""
    return Tools(find_build(builds, tor_build), require_linkem())


def require_linkem() -> Path:
    """The program linkem; ToolMissing when it is not there."""
    return require_own_program("linkem")


def find_linkem() -> Path | None:
    """The program linkem; None when it is not there."""
    return find_own_program("linkem")
