"""Shadow in the list of engines, under its two names.

In: the Shadow of this machine. Out: :data:`ENGINE`.
"""

from __future__ import annotations

from torsweep.engines.contract import Engine
from torsweep.engines.shadow import cost
from torsweep.engines.shadow.round_trips import round_trips
from torsweep.engines.tools import require_tool


def _here() -> str:
    """Raises ToolMissing where there is no Shadow; TorsweepError when its kind cannot be told."""
    return round_trips(require_tool("shadow").path).engine


ENGINE = Engine(
    name="shadow",
    command="torsweep shadow",
    here=_here,
    versions=list,
    run_seconds=cost.run_seconds,
    demand=cost.demand,
    kinds={"shadow": "measures round trips", "shadow-no-rtt": "measures no round trips"},
    tools=("shadow", "tgen", "oniontrace"),
    other_kind="TORSWEEP_SHADOW can name another; see patches/shadow/README.md",
    takes_threads=True,
)
