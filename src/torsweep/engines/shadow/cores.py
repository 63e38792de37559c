"""Sets of cores, so that simulations that run at the same time share none.

In: how many cores a run wants. Out: cores that no other run has claimed, held until the claim is left or
the process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def claimed_cores(wanted: int, claims: Path | None = None) -> Iterator[tuple[int, ...]]:
    """Cores of this process's set that no other run holds: ``wanted`` of them, or all of them for 0.

    Where fewer are free than wanted, the whole set is given, unclaimed: the run is then slower, not wrong.
    ``claims`` is the folder of the claims, one for each user of the machine when left out.
    """
    allowed = sorted(os.sched_getaffinity(0))
    folder = claims or Path(tempfile.gettempdir()) / f"torsweep-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    held: dict[int, int] = {}
    try:
        for core in allowed:
            if wanted and len(held) == wanted:
                break
            descriptor = os.open(folder / str(core), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            held[core] = descriptor
        yield tuple(held) if held and len(held) >= wanted else tuple(allowed)
    finally:
        for descriptor in held.values():
            os.close(descriptor)
