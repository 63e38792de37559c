"""How a command ends: its exit code, and at most one line on standard error.

In: the command's work, as a function. Out: 0 done, 1 failed, 2 bad input or configuration, 3 a tool is
missing. An exception that nobody foresaw is a defect of torsweep, and passes through with its traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from torsweep.errors import OutputError, TorsweepError

INTERRUPTED = 130
"""The exit code that a shell sees when Ctrl-C ended a process."""

_BROKEN_PIPE = 141

_LONGEST_LINE = 1500
"""Characters of a message that are shown."""


def draw_into_files() -> None:
    """A notebook's MPLBACKEND may name a package that this environment lacks: figures here are files."""
    os.environ["MPLBACKEND"] = "agg"


def exit_code_of(work: Callable[[], object], program: str) -> int:
    """Do ``work``; the exit code of how it ended, after a line that begins with ``program`` if it failed."""
    draw_into_files()
    try:
        work()
    except TorsweepError as error:
        return _ended(program, str(error), error.exit_code)
    except KeyboardInterrupt:
        return _ended(program, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Nobody reads the output any more: print no error, and discard the rest of the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        if error.strerror is None:
            raise
        where = f"{error.filename}: " if error.filename else ""
        return _ended(program, f"{where}{error.strerror}", OutputError.exit_code)
    return 0


def _ended(program: str, line: str, code: int) -> int:
    shown = " ".join(line.splitlines())
    if len(shown) > _LONGEST_LINE:
        # A key or a name of a damaged file can be of any length.
        half = _LONGEST_LINE // 2
        shown = f"{shown[:half]} … {shown[-half:]}"
    print(f"{program}: {shown}", file=sys.stderr, flush=True)
    return code


def run_script(snakemake: Any, work: Callable[[], object]) -> NoReturn:
    """Do ``work`` with both outputs in the log of the job, and end the process."""
    with open(snakemake.log[0], "w", encoding="utf-8") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(log.fileno(), stream.fileno())
    sys.exit(exit_code_of(work, "torsweep"))
