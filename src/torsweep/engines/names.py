"""The names of the engines, as experiments list them: those of the packages beside this module.

In: the folder of :mod:`torsweep.engines`. Out: the names of its packages that have an ``entry.py``, without
loading any.
"""

from __future__ import annotations

from pathlib import Path

from torsweep import engines

ENTRY_FILE = "entry.py"
"""The module in which a package states its ``ENGINE``; what is in it stands in
:mod:`torsweep.engines.contract`."""


def engine_names() -> tuple[str, ...]:
    """The engines there are, in the order of the alphabet."""
    entries = [entry for folder in engines.__path__ for entry in Path(folder).glob(f"*/{ENTRY_FILE}")]
    return tuple(sorted(entry.parent.name for entry in entries))
