"""How long clients took to start, from the logs of tor and Arti.

In: the folder of hosts that Shadow leaves. Out: µs from the first line of a client's log to the one that says
that it knows enough of the network to build circuits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from torsweep.engines.shadow.read.logs import TEXT, find_logs, parse_logs
from torsweep.tor.arti_client import READY

_ENOUGH = ("Bootstrapped 75% (enough_dirinfo)", READY)
_TOR_TIME, _ARTI_TIME = r"^\w{3} \d\d (\d\d:\d\d:\d\d\.\d{3}) \[", r"^\S+T(\d\d:\d\d:\d\d\.\d{3})Z "
"""How lines of tor and of Arti begin. A simulation begins at midnight, so the day does not matter."""


@dataclass(frozen=True)
class _Lines:
    frame: pl.DataFrame


def read_starts(hosts: Path, clients: Sequence[str]) -> dict[str, int]:
    """Client → the time that its start took; without those whose log does not say so."""
    logs = [*find_logs(hosts, "tor", clients), *find_logs(hosts, "arti", clients, "stderr")]
    enough = pl.any_horizontal(*(TEXT.str.contains(words, literal=True) for words in _ENOUGH))
    lines = parse_logs(logs, lambda frame: _Lines(frame.filter((pl.col("line") == 1) | enough))).frame
    starts: dict[str, int] = {}
    for (log, *_), found in lines.sort("log", "line").group_by("log", maintain_order=True):
        times = [_time(text) for text in found["text"][:2]]
        if len(times) == 2 and times[0] and times[1]:
            starts[logs[int(str(log))].host] = (times[1] - times[0]) // timedelta(microseconds=1)
    return starts


def _time(line: str) -> datetime | None:
    match = re.match(_TOR_TIME, line) or re.match(_ARTI_TIME, line)
    return datetime.strptime(match[1], "%H:%M:%S.%f") if match is not None else None
