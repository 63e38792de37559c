"""cellsim in the list of engines.

In: nothing. Out: :data:`ENGINE`.
"""

from __future__ import annotations

from torsweep.config.engine_names import MODEL_ENGINE
from torsweep.engines.cellsim import cost
from torsweep.engines.cellsim.tools import cellsim_version, require_cellsim
from torsweep.engines.contract import Engine


def _here() -> str:
    require_cellsim()
    return MODEL_ENGINE


ENGINE = Engine(
    name=MODEL_ENGINE,
    command="cellsim",
    here=_here,
    versions=lambda: [cellsim_version()],
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={MODEL_ENGINE: "models tor"},
)
