"""Messages that long work on a file is still going on.

In: what is being done. Out: lines on standard error, the first after three seconds.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator

FIRST_S, EVERY_S = 3.0, 10.0
"""Seconds until the first line, and between later lines."""


@contextlib.contextmanager
def told_while_it_lasts(doing: str) -> Iterator[None]:
    """Print on standard error that ``doing`` is still going on, as long as the block lasts."""
    ended = threading.Event()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    thread = threading.Thread(
        target=tell, args=(doing, ended.wait, say), name="torsweep-waiting", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def tell(doing: str, ended_within: Callable[[float], bool], say: Callable[[str], None]) -> None:
    """Say how long ``doing`` has taken until ``ended_within`` the seconds of the next pause is true."""
    elapsed_s = 0.0
    for pause_s in itertools.chain([FIRST_S], itertools.repeat(EVERY_S)):
        if ended_within(pause_s):
            return
        elapsed_s += pause_s
        say(f"{doing}: {elapsed_s:.0f} s so far")
