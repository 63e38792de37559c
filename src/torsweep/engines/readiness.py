"""Whether an engine can run on this machine: the doctor and the pipeline both ask here.

In: an :class:`~torsweep.engines.contract.Engine`, PATH, this machine. Out: what keeps it from running, each
as the error that a run would end with.
"""

from __future__ import annotations

from collections.abc import Iterator

from torsweep.engines.contract import Engine
from torsweep.engines.tools import find_tool, require_tool, tool_problem
from torsweep.errors import ToolMissing, TorsweepError
from torsweep.tor.requirements import check_requirements

TOR_PROGRAMS = ("tor", "tor-gencert")


def required_tools(engine: Engine) -> tuple[str, ...]:
    """Names of the tools without which ``engine`` cannot run."""
    return (*engine.tools, *(TOR_PROGRAMS if engine.runs_tor else ()))


def problems(engine: Engine) -> Iterator[TorsweepError]:
    """What keeps ``engine``, of whichever kind, from running here; nothing when it can run.

    A tor that is not built yet is no problem where this machine has what building it needs: the pipeline
    builds it.
    """
    lacking = False
    for name in engine.tools:
        try:
            require_tool(name)
        except ToolMissing as error:
            lacking = True
            yield error
    if engine.runs_tor:
        yield from _problems_of_tor()
    for text in engine.unsupported():
        yield ToolMissing(text)
    if not lacking:
        try:
            engine.here()
        except TorsweepError as error:
            yield error


def _problems_of_tor() -> Iterator[ToolMissing]:
    if any(tool_problem(name, find_tool(name)) for name in TOR_PROGRAMS):
        try:
            check_requirements()
        except ToolMissing as error:
            yield error
