"""How a pipeline ends one of whose steps was refused.

In: Snakemake's logs. Out: the refusal once more, below all of Snakemake's own words about it, and exit
code 2, as from every other command; Snakemake alone would end with 1. Where the disk is full there may be no
room for a log, nor for Snakemake's own files: then the disk itself is asked.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from torsweep.errors import InputError, OutputError

_REFUSED = f"returned non-zero exit status {InputError.exit_code}."
_WORDS = re.compile(r"^(?:torsweep|cellsim|linkem|plotting): .+$", re.MULTILINE)
_LOGS = re.compile(r"^Logfile (?P<file>.+):\n=+\n(?P<text>(?:.*\n)*?)=+$", re.MULTILINE)


_FULL_BYTES = 1 << 16
"""With less room than this, a step cannot even leave its log."""


def refusal(log: str) -> str | None:
    """The last words of the first step that failed, if it was refused (exit code 2), and its log."""
    shown = _LOGS.search(log)
    if shown is None or _REFUSED not in log[: shown.start()]:
        return None
    words = _WORDS.findall(shown["text"])
    return f"{words[-1]} ({shown['file']})" if words else None


def watch_disk(results: Path) -> None:
    """When this process ends, let it end with one line and exit code 2 if it failed and the disk is full."""
    atexit.register(_end_full, results)


def end_done() -> None:
    """The pipeline has succeeded, however full the disk is."""
    atexit.unregister(_end_full)


def _end_full(results: Path) -> None:
    try:
        full = shutil.disk_usage(results).free < _FULL_BYTES
    except OSError:
        return
    if full:
        print(f"torsweep: {results}: No space left on device", file=sys.stderr, flush=True)
        sys.stdout.flush()
        # Snakemake has its own exit code under way, which only this changes.
        os._exit(OutputError.exit_code)


def end_refused(log_files: Sequence[str]) -> None:
    """End the process with what :func:`refusal` finds in ``log_files``; return when that is nothing."""
    for file in log_files:
        said = refusal(Path(file).read_text(encoding="utf-8", errors="replace"))
        if said is not None:
            end_done()
            print(said, file=sys.stderr, flush=True)
            sys.exit(InputError.exit_code)
