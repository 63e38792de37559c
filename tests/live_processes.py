"""What runs on this machine, and how long a test waits for its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def gone(pid: int) -> bool:
    """Whether the process has ended (one that nobody has waited for yet has, too)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition: Callable[[], object]) -> None:
    """AssertionError where it has not come true within 20 s."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def processes_of(folder: Path) -> list[int]:
    """The other processes that have ``folder`` on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(folder) in command:
                found.append(int(entry.name))
    return found
