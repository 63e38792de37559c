"""While a sweep runs: how far it has come, and how long the rest will take.

In: the provenance files that finished runs leave. Out: lines on standard error, such as
``7 of 48 runs, about 3 min left``.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from torsweep.units import rounded_duration

POLL_SECONDS = 2.0


def progress_line(finished: int, total: int, elapsed_s: float) -> str:
    """``7 of 48 runs, about 3 min left``, at the pace of the runs finished in ``elapsed_s``."""
    if finished == total:
        return f"{total} of {total} runs, in {rounded_duration(elapsed_s)}"
    left_s = elapsed_s / finished * (total - finished)
    return f"{finished} of {total} runs, about {rounded_duration(left_s)} left"


def follow_runs(
    provenance_files: Sequence[Path], say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """A function that, each time it is called, says how far the runs are, if that has changed.

    A provenance file counts when it is younger than this call: what is to be run again has one already.
    """
    started = clock()
    before = {file: _stamp(file) for file in provenance_files}
    said = 0

    def look() -> None:
        nonlocal said
        finished = sum(_stamp(file) not in (None, stamp) for file, stamp in before.items())
        if finished > said:
            said = finished
            say(progress_line(finished, len(before), clock() - started))

    return look


def _stamp(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def announce_runs(provenance_files: Sequence[Path]) -> None:
    """Say on standard error how far the runs are, from now until the process ends."""
    if not provenance_files:
        return

    def say(line: str) -> None:
        print(f"torsweep: {line}", file=sys.stderr, flush=True)

    look = follow_runs(provenance_files, say)

    def watch() -> None:
        while True:
            time.sleep(POLL_SECONDS)
            look()

    threading.Thread(target=watch, name="torsweep-progress", daemon=True).start()
