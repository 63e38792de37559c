"""Shadow in the list of engines, under its two names.

In: the Shadow of this machine. Out: :data:`ENGINE`.
"""

from __future__ import annotations

import platform
import re

from torsweep.config.looks import DOTTED, LONG_DASHED, ORANGE, SKY, Look
from torsweep.config.transport import Codel, Transport
from torsweep.engines.contract import Engine, Kind
from torsweep.engines.shadow import cost
from torsweep.engines.shadow.round_trips import MEASURING, NOT_MEASURING, round_trips
from torsweep.engines.table_files import CIRCUITS_FILE, PATHS_FILE
from torsweep.engines.tools import TOOL_KINDS, require_tool

OLDEST_KERNEL = (5, 10)
"""The oldest Linux kernel in the list of supported platforms of Shadow's guide."""


def _here() -> str:
    """Raises ToolMissing where there is no Shadow; TorsweepError when its kind cannot be told."""
    return round_trips(require_tool("shadow").path).engine


def _unsupported() -> list[str]:
    """Why Shadow does not support this platform, a line each."""
    guide = TOOL_KINDS["shadow"].guide
    architecture, kernel = platform.machine(), platform.release()
    found = []
    if architecture != "x86_64":
        found.append(f"shadow: runs on x86_64, this is {architecture}: {guide}")
    version = re.match(r"(\d+)\.(\d+)", kernel)
    if version and (int(version[1]), int(version[2])) < OLDEST_KERNEL:
        found.append(f"shadow: needs Linux 5.10 or later, this is {kernel}: {guide}")
    return found


_TRANSPORT = Transport(tcp="shadow", link_queue=Codel(kind="codel"))

ENGINE = Engine(
    name="shadow",
    command="torsweep shadow",
    here=_here,
    unsupported=_unsupported,
    versions=list,
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={
        MEASURING: Kind("measures round trips", Look(SKY, LONG_DASHED, "D"), _TRANSPORT),
        NOT_MEASURING: Kind("measures no round trips", Look(ORANGE, DOTTED, "P"), _TRANSPORT),
    },
    tools=("shadow", "tgen", "oniontrace"),
    files=(CIRCUITS_FILE, PATHS_FILE),
    other_kind="TORSWEEP_SHADOW can name another; see patches/shadow/README.md",
    preference=1,
    takes_threads=True,
)
