"""How a pipeline ends one of whose steps was refused.

In: Snakemake's logs. Out: the refusal once more, below all of Snakemake's own words about it, and exit
code 2, as from every other command; Snakemake alone would end with 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from torsweep.errors import InputError

_REFUSED = f"returned non-zero exit status {InputError.exit_code}."
_WORDS = re.compile(r"^(?:torsweep|cellsim): .+$", re.MULTILINE)
_LOGS = re.compile(r"^Logfile (?P<file>.+):\n=+\n(?P<text>(?:.*\n)*?)=+$", re.MULTILINE)


def refusal(log: str) -> str | None:
    """The last words of the first step that failed, if it was refused (exit code 2), and its log."""
    shown = _LOGS.search(log)
    if shown is None or _REFUSED not in log[: shown.start()]:
        return None
    words = _WORDS.findall(shown["text"])
    return f"{words[-1]} ({shown['file']})" if words else None


def end_refused(log_files: Sequence[str]) -> None:
    """End the process with what :func:`refusal` finds in ``log_files``; return when that is nothing."""
    for file in log_files:
        said = refusal(Path(file).read_text(encoding="utf-8", errors="replace"))
        if said is not None:
            print(said, file=sys.stderr, flush=True)
            sys.exit(InputError.exit_code)
