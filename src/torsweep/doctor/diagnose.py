"""Examine tools, machine and engines once.

In: names of engines. Out: a :class:`~torsweep.doctor.report.Diagnosis`.
"""

from __future__ import annotations

from collections.abc import Sequence

from torsweep.doctor.engines import REQUIRED, known_networks, outlook
from torsweep.doctor.machine import read_machine
from torsweep.doctor.report import Diagnosis, ToolState
from torsweep.engines.emulation.rights import standing
from torsweep.engines.selection import AUTO, PREFERENCE, choose_engine
from torsweep.engines.shadow.round_trips import round_trips
from torsweep.engines.tools import TOOL_KINDS, Tool, find_tool, tool_problem
from torsweep.errors import ToolMissing, TorsweepError


def diagnose(engines: Sequence[str]) -> Diagnosis:
    """The tools of ``engines``, this machine, and what each engine could run."""
    machine, networks = read_machine(), known_networks()
    needed = {name for engine in engines for name in REQUIRED[engine]}
    names = [name for name in TOOL_KINDS if name in needed]
    choice = choose_engine(AUTO, PREFERENCE)
    return Diagnosis(
        tuple(_state(name) for name in names),
        machine,
        tuple(outlook(engine, machine, networks) for engine in engines),
        choice,
        standing().way,
    )


def _state(name: str) -> ToolState:
    try:
        tool = find_tool(name)
    except ToolMissing as error:
        return ToolState(name, None, str(error))
    problem = tool_problem(name, tool)
    if name == "shadow" and tool is not None and not problem:
        return _shadow_state(tool)
    return ToolState(name, tool, problem)


def _shadow_state(shadow: Tool) -> ToolState:
    """Shadow, with what a tiny simulation shows of its TCP."""
    try:
        return ToolState("shadow", shadow, "", round_trips(shadow.path).text)
    except TorsweepError as error:
        return ToolState("shadow", shadow, str(error))
