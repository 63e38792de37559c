"""The emulation in the list of engines.

In: this machine's rights and programs. Out: :data:`ENGINE`.
"""

from __future__ import annotations

from torsweep.config.engine_names import REAL_TIME_ENGINE
from torsweep.engines.contract import Engine
from torsweep.engines.emulation import cost
from torsweep.engines.emulation.rights import standing
from torsweep.engines.emulation.tools import require_linkem
from torsweep.errors import ToolMissing
from torsweep.provenance import program_version


def _here() -> str:
    require_linkem()
    found = standing()
    if found.way == "neither":
        raise ToolMissing(f"{REAL_TIME_ENGINE}: {found.problem}")
    return REAL_TIME_ENGINE


ENGINE = Engine(
    name=REAL_TIME_ENGINE,
    command="torsweep emulation",
    here=_here,
    versions=lambda: [f"linkem {program_version(require_linkem())}"],
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={REAL_TIME_ENGINE: "runs tor in real time"},
    real_time=True,
)
