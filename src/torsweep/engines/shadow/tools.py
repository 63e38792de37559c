"""The programs of a Shadow run, with their versions.

In: PATH, and the build of tor with the patch series. Out: :class:`Tools`, or one line on what is missing or
on why it cannot be told what Shadow's TCP does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.engines.shadow.round_trips import RoundTrips, round_trips
from torsweep.engines.tools import require_tool
from torsweep.tor.build import TOOLS, find_build


@dataclass(frozen=True)
class Tools:
    """Where each program is. ``told`` is what each says of its version, ``tor_version`` names release and
    patch series, ``tor_build`` is what the build's provenance says of it, ``round_trips`` what was found of
    Shadow's TCP."""

    shadow: Path
    tgen: Path
    oniontrace: Path
    tor: Path
    gencert: Path
    tor_version: str
    told: dict[str, str]
    tor_build: dict[str, Any]
    round_trips: RoundTrips

    @property
    def engine_version(self) -> str:
        """What figures and tables name: Shadow's version, what its TCP does, and tor's version."""
        words = self.told["shadow"].split()
        exact = next((word for word in words if word.startswith("v")), words[min(1, len(words) - 1)])
        return f"{exact.removeprefix('v')}, {self.round_trips.text}, tor {self.tor_version}"

    @property
    def engine(self) -> str:
        """The engine that this Shadow is: its name in run.json and in the results' paths."""
        return self.round_trips.engine


def find_tools(tor_builds: Path = TOOLS, tor_build: str | None = None) -> Tools:
    """All programs, with the build of tor that a run asks for.

    Raises ToolMissing, saying how to get it, for the first that is missing or too old.

    Raises TorsweepError when it cannot be told whether Shadow measures round trips.
    """
    found = {name: require_tool(name) for name in ("shadow", "tgen", "oniontrace")}
    built = find_build(tor_builds, tor_build)
    return Tools(
        shadow=found["shadow"].path,
        tgen=found["tgen"].path,
        oniontrace=found["oniontrace"].path,
        tor=built.program.absolute(),
        gencert=built.gencert.absolute(),
        tor_version=built.version,
        told={name: tool.told for name, tool in found.items()},
        tor_build=built.facts,
        round_trips=round_trips(found["shadow"].path),
    )
