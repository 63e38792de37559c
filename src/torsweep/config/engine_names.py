"""The names of the engines, as experiments list them: those of the packages under :mod:`torsweep.engines`.

In: the folder of that package. Out: the names of its packages that have an ``entry.py``, without loading any.
"""

from __future__ import annotations

import importlib
from pathlib import Path

ENTRY = "entry.py"
"""The module in which a package states its ``ENGINE``; what is in it stands in
:mod:`torsweep.engines.contract`."""


def engine_names() -> tuple[str, ...]:
    """The engines there are, in the order of the alphabet."""
    # By its name: engines are built on the configuration, which has to know only what they are called.
    folders = importlib.import_module("torsweep.engines").__path__
    entries = [entry for folder in folders for entry in Path(folder).glob(f"*/{ENTRY}")]
    return tuple(sorted(entry.parent.name for entry in entries))
