"""The names of the engines: here and nowhere else.

In: nothing. Out: the names that an experiment may list, those that a run and its folders may have, and which
of them is the model. What an engine does and needs is in its package under :mod:`torsweep.engines`.
"""

from __future__ import annotations

from typing import Literal, get_args

EngineName = Literal["cellsim", "shadow", "emulation"]
"""An engine as an experiment lists it."""

ShadowName = Literal["shadow", "shadow-no-rtt"]
"""Shadow whose TCP measures round trips, and Shadow whose TCP does not (``patches/shadow``).

They give other results, so they have other names in run.json and in the results' paths.
"""

RunEngineName = Literal[EngineName, ShadowName]
"""An engine as a run names it: experiments list Shadow, and a run is by one of its two kinds."""

MODEL_ENGINE: EngineName = "cellsim"
"""The engine that models tor; all others run tor itself."""

REAL_TIME_ENGINE: EngineName = "emulation"
"""The engine that runs on this machine's kernel, with whose streams the model's are compared."""

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
SHADOW_ENGINES: tuple[ShadowName, ...] = get_args(ShadowName)
RUN_ENGINES: tuple[RunEngineName, ...] = get_args(RunEngineName)
