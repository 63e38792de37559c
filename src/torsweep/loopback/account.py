"""What a relay has used, moved and asked the clock.

In: its control port and its process. Out: :class:`Account`.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from torsweep.engines.emulation.run.control import Control
from torsweep.engines.emulation.run.meter import process_cpu_ns

_READINGS = re.compile(r"precise=(\d+) coarse=(\d+)")


@dataclass(frozen=True)
class Account:
    """What a relay has used, moved and asked so far, and when."""

    at_ns: int
    cpu_ns: int
    read: int
    written: int
    precise: int
    coarse: int


async def account_of(control: Control, pid: int) -> Account:
    """The account of the relay behind ``control``, whose process is ``pid``; OSError when that is gone."""
    told = "\n".join(await control.ask("GETINFO traffic/read traffic/written"))
    read, written = (int(value) for value in re.findall(r"traffic/\w+=(\d+)", told))
    # A relay whose readings are not counted refuses to tell of them.
    found = _READINGS.search(await control.value("clock-readings") or "precise=0 coarse=0")
    precise, coarse = (int(value) for value in found.groups()) if found else (0, 0)
    return Account(time.monotonic_ns(), process_cpu_ns(pid), read, written, precise, coarse)
