"""Why a download cannot be followed.

In: nothing. Out: :class:`Failure`, whose reason is counted; no such download has a way in the table.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "no_begin": "the exit saw no BEGIN that fits",
    "several_begins": "more than one BEGIN fits",
    "no_answer": "CONNECTED, the request or an answer is not among the cells of the exit",
    "untraced_host": "a relay on the way is not traced",
    "no_channel": "a channel is not in the list, or more than one fits",
    "no_record": "a cell lacks a record at a place on its way",
    "no_packet": "no packet that was delivered has the bytes of the cell",
    "no_clock": "the clocks of two hosts contradict each other, and cannot be taken to one",
    "out_of_order": "times contradict each other by more than a clock may",
}
"""Each reason, and what it says."""


class Failure(Exception):
    """A download cannot be followed, for one of :data:`REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(REASONS[reason])
        self.reason = reason
