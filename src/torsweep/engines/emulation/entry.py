"""The emulation in the list of engines.

In: this machine's rights and programs. Out: :data:`ENGINE`.
"""

from __future__ import annotations

from torsweep.config.looks import BLACK, SOLID, Look
from torsweep.config.transport import Transport
from torsweep.engines.contract import Engine, Kind
from torsweep.engines.emulation import cost
from torsweep.engines.emulation.rights import standing
from torsweep.engines.emulation.tools import require_linkem
from torsweep.engines.table_files import CIRCUITS_FILE, LINKS_FILE
from torsweep.errors import ToolMissing
from torsweep.provenance import program_version

NAME = "emulation"


def _here() -> str:
    require_linkem()
    found = standing()
    if found.way == "neither":
        raise ToolMissing(f"{NAME}: {found.problem}")
    return NAME


ENGINE = Engine(
    name=NAME,
    command="torsweep emulation",
    here=_here,
    versions=lambda: [f"linkem {program_version(require_linkem())}"],
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={NAME: Kind("runs tor in real time", Look(BLACK, SOLID, "v"), Transport(tcp="linux_6_18"))},
    files=(CIRCUITS_FILE, LINKS_FILE),
    real_time=True,
)
