"""How a script of a rule runs: its output goes to the rule's log, and it ends as a command does.

In: Snakemake's object of a job, and the work of its script. Out: the log; the end of the process
(:mod:`torsweep.ending`), whose last line of the log says what was wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from torsweep.ending import exit_code_of


def run_script(snakemake: Any, work: Callable[[], object]) -> NoReturn:
    """Do ``work`` with both outputs in the log of the job, and end the process."""
    with open(snakemake.log[0], "w", encoding="utf-8") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(log.fileno(), stream.fileno())
    sys.exit(exit_code_of(work, "torsweep"))
