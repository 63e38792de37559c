"""Which engine runs an experiment, and the command that is it.

In: ``auto`` or the name of an engine. Out: the name of an engine with one sentence on why, its command,
and its version.
"""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.emulation.rights import standing
from torsweep.engines.emulation.tools import require_linkem
from torsweep.engines.shadow.round_trips import SHADOW_ENGINES, round_trips
from torsweep.engines.tools import require_tool
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.provenance import engine_version
from torsweep.tor.series import read_series

AUTO = "auto"

PREFERENCE = ("shadow", "cellsim")
"""What ``auto`` takes, the first that can run: real tor where Shadow is installed, else the model of it."""

ENGINES = (*PREFERENCE, "emulation")
"""All engines. The last is never taken unasked: it needs the machine for itself, and rights."""

TOOLS = {"shadow": ("shadow", "tgen", "oniontrace"), "emulation": (), "cellsim": ()}
"""The programs of others that each engine needs; the tor that two of them run, the pipeline builds."""

COMMANDS = {"shadow": "torsweep shadow", "emulation": "torsweep emulation", "cellsim": "cellsim"}
"""What takes ``run RUN_DIR --progress``."""


def runs_tor(engine: str) -> bool:
    """Whether the engine runs real tor, which the pipeline builds."""
    return engine != "cellsim"


def program_of(engine: str) -> str:
    """The engine under whose name there are tools and a command: one for both kinds of Shadow."""
    return "shadow" if engine in SHADOW_ENGINES else engine


@dataclass(frozen=True)
class Choice:
    """An engine and the reason for it."""

    engine: str
    reason: str


def choose_engine(wanted: str, experiment_engines: Sequence[str]) -> Choice:
    """The engine ``wanted``, or for ``auto`` the preferred one that can run the experiment.

    Where that is Shadow, it has the name of the kind that is here (:data:`SHADOW_ENGINES`): an experiment
    lists Shadow, and either will do. Raises InputError when there is no such engine or the experiment does
    not list it; TorsweepError when it cannot be told which kind is here.
    """
    choice = _chosen(wanted, experiment_engines)
    if choice.engine != "shadow" or _lacking_tools("shadow"):
        return choice
    here = shadow_here()
    return choice if here == "shadow" else Choice(here, f"{choice.reason}; it measures no round trips")


def _chosen(wanted: str, experiment_engines: Sequence[str]) -> Choice:
    usable = [name for name in ENGINES if name in experiment_engines]
    preferred = [name for name in PREFERENCE if name in usable]
    if wanted == AUTO and preferred:
        passed_over = []
        for name in preferred[:-1]:
            lack = lacking(name)
            if not lack:
                return Choice(name, "preferred, and installed")
            passed_over.append(lack)
        return Choice(preferred[-1], "; ".join(passed_over) or "the one there is for it")
    if program_of(wanted) not in usable:
        raise InputError(
            "no engine that can run this experiment",
            key="engine",
            value=wanted,
            accepted=", ".join([AUTO, *usable]),
        )
    return Choice(wanted, "asked for")


def lacking(engine: str) -> str:
    """Why ``engine`` cannot run here, in one line; empty when it can. Either kind of Shadow is Shadow."""
    try:
        _require_tools(engine)
        if engine == "shadow":
            shadow_here()
    except TorsweepError as error:
        return str(error)
    return ""


def _lacking_tools(engine: str) -> bool:
    try:
        _require_tools(engine)
    except ToolMissing:
        return True
    return False


def require_engine(engine: str) -> None:
    """Nothing, when ``engine`` can run here; ToolMissing, saying how to get it, when a tool is missing.

    A Shadow of the other kind than asked for is as good as none. Raises TorsweepError when it cannot be told
    which kind is here.
    """
    _require_tools(engine)
    if engine in SHADOW_ENGINES and shadow_here() != engine:
        measures = "measures no" if engine == "shadow" else "measures"
        raise ToolMissing(
            f"{engine}: the Shadow that is here {measures} round trips and is the engine {shadow_here()};"
            " TORSWEEP_SHADOW can name another; see patches/shadow/README.md"
        )


def _require_tools(engine: str) -> None:
    for tool in TOOLS[program_of(engine)]:
        require_tool(tool)
    if engine == "cellsim" and find_cellsim() is None:
        raise ToolMissing(
            f"cellsim: not on PATH, nor beside {Path(sys.executable).name}; `make setup` builds it"
        )
    if engine == "emulation":
        require_linkem()
        found = standing()
        if found.way == "neither":
            raise ToolMissing(f"emulation: {found.problem}")


def shadow_here() -> str:
    """Which of :data:`SHADOW_ENGINES` the Shadow of this machine is.

    Raises ToolMissing where there is none; TorsweepError when it cannot be told.
    """
    return round_trips(require_tool("shadow").path).engine


def find_cellsim() -> Path | None:
    """The program cellsim: on PATH, or beside the Python that is running; None when in neither."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("cellsim") or shutil.which("cellsim", path=beside)
    return Path(found) if found else None


@functools.cache
def version_of(engine: str) -> str:
    """What has to be the same for a run not to be made anew: the versions of all that runs in it.

    The patch series stands for the tor that is built from it. For one kind of Shadow where the other is
    here, ToolMissing: runs of the two must not mix.
    """
    if engine == "cellsim":
        program = find_cellsim()
        return (engine_version(program) if program else None) or ""
    require_engine(engine)
    told = [require_tool(tool).told for tool in TOOLS[program_of(engine)]]
    if engine == "emulation":
        told.append(f"linkem {engine_version(require_linkem())}")
    return "; ".join([*told, f"tor series {read_series().key}"])
