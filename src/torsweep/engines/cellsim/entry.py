"""cellsim in the list of engines.

In: nothing. Out: :data:`ENGINE`.
"""

from __future__ import annotations

from torsweep.config.looks import USUAL
from torsweep.engines.cellsim import cost
from torsweep.engines.cellsim.tools import cellsim_version, require_cellsim
from torsweep.engines.contract import Engine, Kind

NAME = "cellsim"


def _here() -> str:
    require_cellsim()
    return NAME


ENGINE = Engine(
    name=NAME,
    command=NAME,
    here=_here,
    versions=lambda: [cellsim_version()],
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={NAME: Kind("models tor", USUAL)},
    preference=2,
    runs_tor=False,
)
