"""Which engines there are, and what each states of itself.

In: the packages of engines. Out: the :class:`~torsweep.engines.contract.Engine` of a name. Whether it can run
here is said by :mod:`torsweep.engines.selection`.
"""

from __future__ import annotations

import importlib

from torsweep.engines.contract import Engine, EngineKind, engine_names
from torsweep.errors import InputError

_ENTRIES = (importlib.import_module(f"torsweep.engines.{name}.entry") for name in engine_names())

ENGINES: dict[str, Engine] = {entry.ENGINE.name: entry.ENGINE for entry in _ENTRIES}
"""Every engine by its name."""

_BY_KIND = {kind: engine for engine in ENGINES.values() for kind in engine.kinds}

RUN_ENGINES = tuple(sorted(_BY_KIND, key=lambda kind: (_BY_KIND[kind].runs_tor, kind)))
"""The names of runs, the kinds of every engine: the model first."""

MODEL_ENGINE = next(name for name, engine in ENGINES.items() if not engine.runs_tor)
"""The engine that models tor, with which those that run it are compared."""


def find_engine(kind: str) -> Engine:
    """The engine of runs of ``kind`` (both kinds of Shadow have one); InputError for an unknown kind."""
    if kind not in _BY_KIND:
        raise InputError("is no engine", key="engine", value=kind, accepted=", ".join(RUN_ENGINES))
    return _BY_KIND[kind]


def find_kind(kind: str) -> EngineKind:
    """What the engine states about the kind ``kind`` of its runs; InputError for an unknown kind."""
    return find_engine(kind).kinds[kind]


def real_engines() -> str:
    """The engines that run tor, as a refusal names them."""
    return f"engine {' or '.join(name for name, each in ENGINES.items() if each.runs_tor)}"
