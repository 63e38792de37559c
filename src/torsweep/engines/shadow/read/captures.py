"""Packets of a run, from the captures that its hosts wrote.

In: the folder of hosts that Shadow leaves, ``HOST/eth0.pcap`` of each that was asked for one. Out:
:class:`~torsweep.engines.capsules.pcap.Captures`, with times of the run, and how many records could not be
used.

Shadow dates packets by the time since its start, in whole microseconds, which it rounds down; its rings have
the simulated time of day, to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from torsweep.engines.capsules.pcap import Captures, captures_of, read_pcap

CAPTURE_FILE = "eth0.pcap"
"""What Shadow calls the capture of a host's interface; that of the host's own is ``lo.pcap``."""

_ANSWER_HEADER_BYTES = 62
"""Before the payload of an answer, TGen 1.1.2 sends its password, and a line with the version of its
protocol, the host's name (not counted here) and a code: 69 bytes from ``server1``, as captured."""


def answer_header_bytes(server: str) -> int:
    """How many bytes the TGen of ``server`` sends before what was asked for."""
    return _ANSWER_HEADER_BYTES + len(server)


def read_captures(
    hosts: Path, names: Iterable[str], addresses: Mapping[str, str], zero_ns: int
) -> tuple[Captures, dict[str, int]]:
    """The captures of ``names`` in the folder ``hosts``; the run begins ``zero_ns`` after Shadow does.

    Raises InputError for a capture that is missing, none, or has a clock that goes back.
    """
    segments: dict[str, pl.DataFrame] = {}
    counts: dict[str, int] = {}
    for name in names:
        frame, unused = read_pcap(hosts / name / CAPTURE_FILE)
        segments[name] = frame.with_columns(pl.col("time_ns") - zero_ns)
        counts = {reason: counts.get(reason, 0) + count for reason, count in unused.items()}
    return captures_of(segments, addresses, "packets"), counts
