"""Processes that all end with the engine, whatever happens.

In: command lines and files for what they print. Out: running processes, in the network namespaces of hosts.
The kernel kills each child when the thread that started it is gone (PR_SET_PDEATHSIG), which covers a ``kill
-9`` of the engine; tor watches its owner by itself too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from torsweep.engines.emulation.rights import CLONE_NEWNET
from torsweep.errors import TorsweepError


def enter(namespace: str | Path) -> None:
    """Move this thread into ``namespace``. Raises OSError, naming it, when that is refused."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _LIBC.setns(descriptor, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def inside(namespace: str | Path) -> Iterator[None]:
    """Within the block this thread is in ``namespace``; a socket made there stays there."""
    namespace_before = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(namespace)
        yield
    finally:
        enter(f"/proc/self/fd/{namespace_before}")
        os.close(namespace_before)


POLL_S = 0.05

LAST_LINES = 3
GRACE_S = 5.0
"""Seconds that a process has to end after it was asked to, before it is killed."""

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that ask a process to end."""

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class ProcessEnded(TorsweepError):
    """A process of the network ended before its time."""


@dataclass(frozen=True)
class Child:
    """A running process: its name in the network, its handle, and the file it prints to.

    With one of the exit codes ``may_end`` it may end before the others; a negative one is a signal's.
    """

    name: str
    handle: subprocess.Popen[bytes]
    log: Path
    may_end: set[int] = field(default_factory=set)

    def last_words(self, count: int = LAST_LINES) -> str:
        """The last lines that the process printed, one after the other with bars between them."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return " | ".join([line.strip() for line in lines if line.strip()][-count:])


class ProcessSet:
    """The processes of one run. Start them from the main thread: their life is tied to it."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        namespace: str | None = None,
        folder: Path | None = None,
    ) -> Child:
        """Start ``command`` in a network ``namespace`` and a ``folder``, printing to ``log``.

        ``environment`` is on top of this process's own. Raises ProcessEnded when the program cannot be run,
        and OSError when the log cannot be made.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("children die with the thread that started them: start them from the main one")
        with log.open("wb") as output:
            try:
                handle = subprocess.Popen(
                    [os.fspath(part) for part in command],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(environment or {})},
                    start_new_session=True,
                    preexec_fn=_preparing(os.getpid(), namespace),
                )
            except (OSError, subprocess.SubprocessError) as error:
                why = getattr(error, "strerror", None) or str(error)
                raise ProcessEnded(f"{name}: {command[0]} cannot be run: {why}") from None
        child = Child(name, handle, log)
        self.children.append(child)
        return child

    def check(self) -> None:
        """Raise ProcessEnded for the first process, in order of start, that has ended and may not."""
        # Many wait at once and each of them asks often: one system call for all processes, while all run.
        if all(child.handle.returncode is None for child in self.children) and not _any_ended():
            return
        for child in self.children:
            code = child.handle.poll()
            if code is not None and code not in child.may_end:
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                words = child.last_words() or "nothing"
                raise ProcessEnded(f"{child.name} {how}; it last said: {words} (all of it: {child.log})")

    def stop(self) -> None:
        """End every process: asked first, killed after :data:`GRACE_S`. None is left when this returns."""
        for child in self.children:
            end(child)
        deadline = time.monotonic() + GRACE_S
        for child in self.children:
            try:
                child.handle.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child.handle, signal.SIGKILL)
                child.handle.wait()
        self.children.clear()


def end(child: Child) -> None:
    """Ask ``child`` to end."""
    _signal(child.handle, signal.SIGTERM)


def _any_ended() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _signal(handle: subprocess.Popen[bytes], number: int) -> None:
    if handle.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            # A session of its own: what the process may have started goes with it.
            os.killpg(handle.pid, number)


def _preparing(parent: int, namespace: str | None) -> Callable[[], None]:
    """Runs in a child before its program: ask to be killed with the parent, and enter the namespace."""

    def prepare() -> None:
        if _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            os._exit(126)
        # The parent may have gone before it was asked for.
        if os.getppid() != parent:
            os._exit(126)
        if namespace is not None:
            enter(namespace)

    return prepare


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """Within the block, signals of :data:`ENDING` end this process as an exception does: ``finally`` runs."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def all_of(tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of ``tasks``; when one fails or this is cancelled, the others are cancelled, too."""
    running = [asyncio.ensure_future(task) for task in tasks]
    try:
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def sleep_until(moment_ns: int) -> None:
    """Wait for this time of the monotonic clock."""
    await asyncio.sleep(max(0, moment_ns - time.monotonic_ns()) / 1e9)


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
