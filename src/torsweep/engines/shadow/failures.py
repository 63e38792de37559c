"""What failed first in a simulation, in one line.

In: what Shadow said on standard error, and the logs of its processes. Out: a message that names the
process and has its last words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from torsweep.engines.shadow.layout import HOSTS

_EXIT = re.compile(r"process '(?P<host>[^']+)\.(?P<program>[^.']+)\.(?P<pid>\d+)' (?P<what>exited .*|.*)")
_TOR_STAMP = re.compile(r"^[A-Z][a-z]{2} \d\d [\d:.]+ ")


def process_failure(line: str, folder: Path) -> str | None:
    """What ``line`` says of a process that ended badly, with its last words; None for another line."""
    match = _EXIT.search(line)
    if match is None or "expected end state" not in line:
        return None
    ended = match["what"].split(";")[0]
    said = last_words(folder, match["host"], match["program"], match["pid"])
    return f"{match['program']} of {match['host']} {ended}" + (f": {said}" if said else "")


def last_words(folder: Path, host: str, program: str, pid: str) -> str:
    """The last error in a process's logs, else its last line; empty when it said nothing."""
    lines: list[str] = []
    for stream in ("stdout", "stderr"):
        try:
            text = (folder / HOSTS / host / f"{program}.{pid}.{stream}").read_text(errors="replace")
        except OSError:
            continue
        lines += [line.strip() for line in text.splitlines() if line.strip()]
    # tor's warning says what is wrong; the error after it says only that something is wrong.
    warned = [line for line in lines if "[warn] Failed" in line or "[err]" in line]
    word = (warned or lines or [""])[0 if warned else -1]
    return _TOR_STAMP.sub("", word)


def shadow_failure(folder: Path, said: Sequence[str]) -> str:
    """Why Shadow ended badly: the first process that did, else its own words."""
    for line in said:
        failure = process_failure(line, folder)
        if failure:
            return failure
    own = [line.removeprefix("**").strip() for line in said if line.startswith("**")]
    reasons = [line for line in own if line and not line.startswith(("Starting", "See the log"))]
    return "; ".join(reasons) or (said[-1] if said else "Shadow ended without a word")
