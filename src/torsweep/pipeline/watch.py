"""While a sweep runs: how far it has come, and how long the rest will take.

In: the provenance files that finished runs leave. Out: lines on standard error, such as
``7 of 48 runs, about 3 min left``.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from torsweep.units import rounded_duration

POLL_SECONDS = 2.0

TRUST = 0.05
"""The weight of the estimate made before the start: it counts as much as this share of all runs, finished in
the estimated time."""


def progress_line(finished: int, total: int, elapsed_s: float, done_s: float, all_s: float) -> str:
    """``7 of 48 runs, about 3 min left``, of runs that were thought to take ``all_s`` seconds together.

    Finished runs, thought to take ``done_s``, took ``elapsed_s``: the others take as much longer or shorter
    than was thought.
    """
    if finished == total:
        return f"{total} of {total} runs, in {rounded_duration(elapsed_s)}"
    trust_s = TRUST * all_s
    left_s = (all_s - done_s) * (elapsed_s + trust_s) / (done_s + trust_s)
    return f"{finished} of {total} runs, about {rounded_duration(left_s)} left"


def follow_runs(
    expected_s: Mapping[Path, float], say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """A function that, each time it is called, says how far the runs are, if that has changed.

    ``expected_s`` are the runs' provenance files, with the seconds that each is thought to take. A file
    counts when it is younger than this call: what is to be run again has one already.
    """
    started = clock()
    before = {file: _stamp(file) for file in expected_s}
    said = 0

    def look() -> None:
        nonlocal said
        finished = [file for file, stamp in before.items() if _stamp(file) not in (None, stamp)]
        if len(finished) > said:
            said = len(finished)
            done_s = sum(expected_s[file] for file in finished)
            say(progress_line(said, len(before), clock() - started, done_s, sum(expected_s.values())))

    return look


def _stamp(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def announce_runs(expected_s: Mapping[Path, float]) -> None:
    """Say on standard error how far the runs are, from now until the process ends: :func:`follow_runs`."""
    if not expected_s:
        return

    def say(line: str) -> None:
        print(f"torsweep: {line}", file=sys.stderr, flush=True)

    look = follow_runs(expected_s, say)

    def watch() -> None:
        while True:
            time.sleep(POLL_SECONDS)
            look()

    threading.Thread(target=watch, name="torsweep-progress", daemon=True).start()
