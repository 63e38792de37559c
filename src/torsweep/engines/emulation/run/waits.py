"""The waits of a network's start, each of which has a limit.

In: what is waited for, and words for what is missing. Out: :func:`until` returns, or raises
:class:`NotReady`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection

from torsweep.engines.emulation.run.control import POLL_S
from torsweep.errors import TorsweepError

STALLED_S = 150.0
"""A wait is over when what is missing has not changed for so many seconds. tor gives up the first circuit of
a client after 60 s and tries another."""

_NAMED = 5


class NotReady(TorsweepError):
    """A network did not come up; the message is what was missing."""


async def until(
    done: Callable[[], Awaitable[bool]],
    missing: Callable[[], str],
    check: Callable[[], None],
    deadline: float,
    *,
    stalled_s: float = STALLED_S,
    poll_s: float = POLL_S,
) -> None:
    """Wait for ``done``; ``check`` raises an error when the wait is in vain.

    Raises NotReady with what is ``missing`` when that has not changed for ``stalled_s``, and at the monotonic
    time ``deadline``.
    """
    words, since = "", time.monotonic()
    while not await done():
        check()
        now = time.monotonic()
        if missing() != words:
            words, since = missing(), now
        if now > min(since + stalled_s, deadline):
            raise NotReady(f"the network was not ready in time: {words}")
        await asyncio.sleep(poll_s)


def some_of(names: Collection[str]) -> str:
    """The first of ``names``: ``relay1, relay2 and 5 more``."""
    first, more = ", ".join(sorted(names)[:_NAMED]), len(names) - _NAMED
    return f"{first} and {more} more" if more > 0 else first
