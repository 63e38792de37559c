"""Locks by which runs share a machine: one plan of runs in real time at a time, and cores for others.

In: a process that is about to play such runs. Out: :func:`hold_machine`, which keeps the machine until the
process ends, however it ends; :func:`machine_shared`, for a run that no plan has begun; :func:`locked_cores`.
The locks are the kernel's (flock).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from torsweep.engines.contract import Say
from torsweep.errors import OutputError
from torsweep.units import rounded_duration


@contextlib.contextmanager
def locked_cores(stem: Path, most: int) -> Iterator[list[int]]:
    """Lock up to ``most`` of this process's cores that nobody else has locked; the file of a lock is named
    ``stem`` and the number of the core. Raises OutputError when it cannot be opened."""
    cores: list[int] = []
    with contextlib.ExitStack() as locks:
        for core in sorted(os.sched_getaffinity(0)):
            if len(cores) == most:
                break
            descriptor = open_lock(stem.with_name(f"{stem.name}.{core}"))
            locks.callback(os.close, descriptor)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                cores.append(core)
        yield cores


def open_lock(lock: Path, *, for_all: bool = False) -> int:
    """A descriptor of the file ``lock``, which with ``for_all`` every user may write; OutputError if none."""
    access = os.O_RDWR if for_all else os.O_RDONLY
    try:
        # Without O_CREAT first: the kernel refuses it on a file of somebody else in a folder open to all.
        with contextlib.suppress(FileNotFoundError):
            return os.open(lock, access | os.O_CLOEXEC)
        descriptor = os.open(lock, access | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if for_all:
            os.fchmod(descriptor, 0o666)
        return descriptor
    except OSError as error:
        raise OutputError(f"{lock}: cannot be opened: {error.strerror}") from error


LOCK = Path("/tmp") / "torsweep-emulation.lock"
"""The lock of the machine. That of a core has this name and a number. They are in /tmp, which is the same for
all users."""

HELD = "TORSWEEP_HOLDS_MACHINE"
"""Set in the environment of the steps of a plan that holds the machine."""

POLL_S = 1.0
SAY_S = 60.0
_MOST_BYTES = 4096

_held: list[int] = []
"""Descriptors of locks that this process keeps until it ends."""


def say_waiting(line: str) -> None:
    """Print a line of a run that waits."""
    print(f"emulation: {line}", file=sys.stderr, flush=True)


def hold_machine(say: Say, lock: Path = LOCK) -> Callable[[float], None]:
    """Keep the machine for this process and its children until it ends. While another has it, ``say`` is told
    for whom this waits and about how long, once a minute. What is returned takes the seconds that are left,
    for others who wait. OutputError when the lock cannot be opened."""
    if HELD in os.environ:
        return lambda left_s: None
    descriptor = open_lock(lock, for_all=True)
    in_turn(lambda: _locked(descriptor, fcntl.LOCK_EX), lambda: _holder(descriptor), say)
    _held.append(descriptor)
    os.environ[HELD] = "1"

    def tell(left_s: float) -> None:
        told = {"process": os.getpid(), "folder": os.getcwd(), "until": round(time.time() + left_s)}
        with contextlib.suppress(OSError):  # it may be another user's file
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(told).encode(), 0)

    return tell


@contextlib.contextmanager
def machine_shared(say: Say, lock: Path = LOCK) -> Iterator[None]:
    """Share the machine for the block: no plan begins meanwhile. Waits like :func:`hold_machine`, but not in
    a step of the plan that holds the machine."""
    if HELD in os.environ:
        yield
        return
    descriptor = open_lock(lock, for_all=True)
    try:
        in_turn(lambda: _locked(descriptor, fcntl.LOCK_SH), lambda: _holder(descriptor), say)
        yield
    finally:
        os.close(descriptor)


def in_turn(mine: Callable[[], bool], whose: Callable[[], str], say: Say) -> None:
    """Return when it is this process's turn; meanwhile ``say``, once a minute, ``whose`` it is."""
    said_s = -SAY_S
    while not mine():
        if time.monotonic() - said_s >= SAY_S:
            said_s = time.monotonic()
            say(f"waiting for {whose()}")
        time.sleep(POLL_S)


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Who holds the machine, and about how long, in words."""
    try:
        told = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
        process, folder, left_s = int(told["process"]), str(told["folder"]), told["until"] - time.time()
    except (ValueError, KeyError, TypeError):
        return OTHER
    if not Path("/proc", str(process)).exists():
        return OTHER
    left = f"about {rounded_duration(left_s)} left" if left_s > 0 else "which take longer than was estimated"
    return f"the runs of process {process} in {folder}, {left}"


OTHER = "another emulation on this machine"
