"""How the command lines of figures end: done, or one line for an error that a user can mend.

In: what is to be drawn, as a function. Out: torsweep's exit codes (:mod:`torsweep.errors`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from torsweep.errors import TorsweepError


def exit_code_of(draw: Callable[[], None]) -> int:
    """0 once ``draw`` is done; the code of its TorsweepError, whose line goes to standard error."""
    try:
        draw()
    except TorsweepError as error:
        print(f"plotting: {error}", file=sys.stderr)
        return error.exit_code
    return 0
