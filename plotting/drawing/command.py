"""How the command lines of figures end: the figure is drawn, or one line names an error that a user can fix.

In: what is to be drawn, as a function, and the path of the figure. Out: torsweep's exit codes
(:mod:`torsweep.errors`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from torsweep import ending
from torsweep.storage.folders import FIGURES, require_writable

DEBUG = "TORSWEEP_DEBUG"
"""Set in the environment, it has the traceback of a defect shown."""


def exit_code_of(draw: Callable[[], None], out: Path) -> int:
    """How ``draw`` ended (:func:`torsweep.ending.exit_code_of`), if ``out`` may be written at all."""

    def checked() -> None:
        require_writable(out.parent, FIGURES)
        draw()

    return ending.exit_code_of(checked, "plotting", debug=DEBUG in os.environ)
