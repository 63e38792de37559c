"""Whether an engine can run here, and which one runs an experiment.

In: ``auto`` or the name of an engine; PATH, this machine. Out: the name of an engine with one sentence on
why, its version, and what keeps it from running, each as the error that a run would end with.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torsweep.engines.contract import Engine
from torsweep.engines.registry import RUN_ENGINES, find_engine
from torsweep.engines.tools import find_tool, require_tool, tool_problem
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.source_keys import sources_key
from torsweep.tor.compile import check_requirements

TOR_PROGRAMS = ("tor", "tor-gencert")


def required_tools(engine: Engine) -> tuple[str, ...]:
    """Names of the tools without which ``engine`` cannot run."""
    return (*engine.tools, *(TOR_PROGRAMS if engine.runs_tor else ()))


def problems(engine: Engine, *, builds: bool = True) -> Iterator[TorsweepError]:
    """What keeps ``engine``, of whichever kind, from running here: with ``builds``, also a tor that neither
    is built nor can be. The pipeline says that itself of the builds that it needs."""
    lacking = False
    for name in engine.tools:
        try:
            require_tool(name)
        except ToolMissing as error:
            lacking = True
            yield error
    if builds and engine.runs_tor and any(tool_problem(name, find_tool(name)) for name in TOR_PROGRAMS):
        try:
            check_requirements()
        except ToolMissing as error:
            yield error
    for text in engine.unsupported():
        yield ToolMissing(text)
    if not lacking:
        try:
            engine.here()
        except TorsweepError as error:
            yield error


AUTO_ENGINE = "auto"


@dataclass(frozen=True)
class Choice:
    """An engine and the reason for it."""

    engine: str
    reason: str


def choose_engine(request: str, experiment_engines: Sequence[str]) -> Choice:
    """The engine ``request``, or for ``auto`` the first of ``experiment_engines`` that can run here.

    Of an engine with several kinds it is the one that is here. Raises InputError when there is no such engine
    or the experiment does not list it; ToolMissing where none can run here; TorsweepError when the kind that
    is here cannot be determined.
    """
    choice = _chosen(request, experiment_engines)
    engine = find_engine(choice.engine)
    if choice.engine != engine.name or len(engine.kinds) == 1 or _lacking_tools(engine):
        return choice
    here = engine.here()
    return choice if here == choice.engine else Choice(here, f"{choice.reason}; it {engine.kinds[here].does}")


def _chosen(request: str, experiment_engines: Sequence[str]) -> Choice:
    if request == AUTO_ENGINE:
        passed_over: list[str] = []
        for name in experiment_engines:
            lack = lacking(name)
            if not lack:
                listed = "the first" if len(experiment_engines) > 1 else "the only one"
                return Choice(name, "; ".join(passed_over) or f"{listed} that the experiment lists")
            passed_over.append(lack)
        for name in experiment_engines:
            if not lacking(name, builds=False):
                return Choice(name, "as soon as tor can be built here")
        raise ToolMissing(f"no engine of this experiment can run here: {'; '.join(passed_over)}")
    if request not in RUN_ENGINES or find_engine(request).name not in experiment_engines:
        accepted = ", ".join([AUTO_ENGINE, *experiment_engines])
        problem = "no engine that can run this experiment"
        raise InputError(problem, key="engine", value=request, accepted=accepted)
    return Choice(request, "asked for")


def lacking(name: str, *, builds: bool = True) -> str:
    """The first of the :func:`problems` of the engine ``name``, in one line; empty when it can run here."""
    return next((str(problem) for problem in problems(find_engine(name), builds=builds)), "")


def require_engine(kind: str) -> None:
    """Raise ToolMissing, which says how to get it, when the engine ``kind`` cannot run here. A Shadow of the
    other kind does not count, nor does what building tor needs."""
    engine = find_engine(kind)
    for problem in problems(engine, builds=False):
        raise problem
    _require_kind(engine, kind)


def _require_kind(engine: Engine, kind: str) -> None:
    here = engine.here()
    if here != kind:
        raise ToolMissing(
            f"{kind}: the {engine.name.capitalize()} that is here {engine.kinds[here].does}"
            f" and is the engine {here}; {engine.other_kind}"
        )


def _lacking_tools(engine: Engine) -> bool:
    try:
        for tool in engine.tools:
            require_tool(tool)
    except ToolMissing:
        return True
    return False


@functools.cache
def version_of(kind: str, builds: tuple[str, ...] = ()) -> str:
    """What has to be the same for a run not to be made anew: the versions of its programs, all that preparing
    and running it loads of torsweep, and the keys of its ``builds`` of tor. ToolMissing for one kind of
    Shadow where the other is here: runs of the two must not mix."""
    engine = find_engine(kind)
    versions = [*engine.versions(), f"sources {run_key(engine.name)}"]
    if not engine.runs_tor:
        return "; ".join(versions)
    _require_kind(engine, kind)
    tool_versions = [require_tool(tool).version_line for tool in engine.tools]
    return "; ".join([*tool_versions, *versions, *(f"tor build {key}" for key in builds)])


def run_key(engine: str) -> str:
    """A key of the sources that prepare and run a run of ``engine``."""
    return sources_key("torsweep/engines/prepare.py", f"torsweep/engines/{engine}/cli.py")
