"""A run that falls behind real time is made again.

In: what a run of the emulation takes. Out: its tables, or :class:`FellBehind` after the last try.
"""

from __future__ import annotations

import sys
from pathlib import Path

from torsweep.engines.emulation.entry import Tools
from torsweep.engines.emulation.run.engine import READY_LIMIT_S, run_emulation
from torsweep.engines.emulation.run.pace import FellBehind

TRIES = 3


def run_in_tries(
    run_directory: Path,
    tools: Tools,
    *,
    progress: bool = False,
    ready_limit_s: float = READY_LIMIT_S,
    extra: tuple[str, ...] = (),
) -> None:
    """:func:`run_emulation`, up to :data:`TRIES` times for as long as the run falls behind real time.

    A line on standard error says so of each such try but the last. Raises FellBehind, with what the last try
    said, after that; every other error of :func:`run_emulation` at once.
    """
    for number in range(1, TRIES + 1):
        try:
            run_emulation(
                run_directory,
                tools,
                progress=progress,
                ready_limit_s=ready_limit_s,
                extra=extra,
                tries=number,
            )
            return
        except FellBehind as behind:
            if number == TRIES:
                raise FellBehind(f"{behind}; tried {TRIES} times") from None
            print(f"emulation: try {number} of {TRIES}: {behind}; trying again", file=sys.stderr, flush=True)
