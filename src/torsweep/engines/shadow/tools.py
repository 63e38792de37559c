"""The programs of a Shadow run, with their versions.

In: PATH, and the build of tor with the patch series. Out: :class:`Tools`, or one line on what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.engines.tools import require_tool
from torsweep.tor.build import TOOLS, find_build


@dataclass(frozen=True)
class Tools:
    """Where each program is. ``told`` is what each says of its version, ``tor_version`` names release and
    patch series, ``tor_build`` is what the build's provenance says of it."""

    shadow: Path
    tgen: Path
    oniontrace: Path
    tor: Path
    gencert: Path
    tor_version: str
    told: dict[str, str]
    tor_build: dict[str, Any]

    @property
    def engine_version(self) -> str:
        """What figures and tables name: Shadow's version and tor's."""
        words = self.told["shadow"].split()
        exact = next((word for word in words if word.startswith("v")), words[min(1, len(words) - 1)])
        return f"{exact.removeprefix('v')}, tor {self.tor_version}"


def find_tools(tor_builds: Path = TOOLS) -> Tools:
    """All programs; ToolMissing, saying how to get it, for the first that is missing or too old."""
    found = {name: require_tool(name) for name in ("shadow", "tgen", "oniontrace")}
    built = find_build(tor_builds)
    kept = ("version", "series_sha256", "program_sha256", "source_sha256", "libraries", "configure")
    return Tools(
        shadow=found["shadow"].path,
        tgen=found["tgen"].path,
        oniontrace=found["oniontrace"].path,
        tor=built.program.absolute(),
        gencert=built.gencert.absolute(),
        tor_version=built.version,
        told={name: tool.told for name, tool in found.items()},
        tor_build={key: built.provenance[key] for key in kept if key in built.provenance},
    )
