"""What an emulation needs of a machine: rights to make hosts, programs, cores, open files and time.

In: this process's rights, ``/dev/net/tun``; run.json, PATH; a number of hosts. Out: :func:`host_rights`, and
:func:`become_able`, which restarts the command as root of a user namespace; :class:`EmulationTools`, or a
ToolMissing; numbers as measured (docs/emulation.md).
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.host_tors import HostTors, find_host_tors
from torsweep.engines.machine_lock import LOCK, OTHER, in_turn, locked_cores, machine_shared, say_waiting
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.tools import require_own_program
from torsweep.errors import ToolMissing


@contextlib.contextmanager
def cores_claimed(cores: int, lock: Path = LOCK) -> Iterator[None]:
    """Have ``cores`` of the machine for the block, or all that there are.

    Waits while other emulations have so many that too few are left, and says so.
    """
    wanted = min(cores, len(os.sched_getaffinity(0)))
    with machine_shared(say_waiting, lock), contextlib.ExitStack() as claims:

        def claimed() -> bool:
            if len(claims.enter_context(locked_cores(lock, wanted))) == wanted:
                return True
            claims.close()
            return False

        in_turn(claimed, lambda: OTHER, say_waiting)
        yield


CPU_LATENCY = Path("/dev/cpu_dma_latency")


@contextlib.contextmanager
def processors_awake(device: Path = CPU_LATENCY) -> Iterator[bool]:
    """Keep idle processors from sleeping for the block, where this user may; whether they are kept.

    A processor that sleeps is late by the time in which it wakes up; one of a virtual machine waits until its
    host lets it run. Linux lets none sleep while a program holds ``device`` open and asks for 0 µs
    (Documentation/power/pm_qos_interface.rst).
    """
    try:
        held = os.open(device, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(held, bytes(4))
        yield True
    finally:
        os.close(held)


SESSION = Path("/proc/self/autogroup")
SESSION_NICE = "-10"


@contextlib.contextmanager
def session_first(file: Path = SESSION) -> Iterator[None]:
    """Have most of the processors for this session and the block, where this user may: with autogroup the
    kernel shares them between sessions before it looks at nice (sched(7)). Without it the file is empty."""
    before = ""
    with contextlib.suppress(OSError):
        words = file.read_text().split()
        if words:
            file.write_text(SESSION_NICE)
            before = words[-1]
    try:
        yield
    finally:
        if before:
            with contextlib.suppress(OSError):
                file.write_text(before)


TUN = Path("/dev/net/tun")
INSIDE = "TORSWEEP_USER_NAMESPACE"
"""Set in the environment of the command started anew, so that it does not try again."""

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
"""Flags of unshare(2) and setns(2)."""

UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--kill-child")


def host_rights(tun: Path = TUN) -> str:
    """How hosts can be made here: ``root`` or ``user namespaces``; ToolMissing, saying why, if in no way."""
    _require_tun(tun)
    if os.geteuid() == 0:
        if not may_unshare(CLONE_NEWNET):
            raise ToolMissing(
                "emulation: network namespaces are refused, to root too: a container may forbid them"
            )
        return "root"
    if not may_unshare(CLONE_NEWNET | CLONE_NEWUSER):
        raise ToolMissing(
            "emulation: network namespaces are refused to this user: run as root, or allow user namespaces"
            " (kernel.unprivileged_userns_clone, user.max_user_namespaces, or AppArmor's restriction of them)"
        )
    if shutil.which(UNSHARE[0]) is None:
        raise ToolMissing(f"emulation: {UNSHARE[0]}: not on PATH; it is part of util-linux")
    return "user namespaces"


def become_able() -> None:
    """Start this command anew in a user namespace, if hosts are made so; errors as of :func:`host_rights`."""
    if INSIDE not in os.environ and host_rights() == "user namespaces":
        command = [*UNSHARE, sys.executable, "-m", "torsweep", *sys.argv[1:]]
        os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def _require_tun(tun: Path) -> None:
    try:
        os.close(os.open(tun, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        why = "no such device: load the kernel's module tun, or give the container the device"
    except PermissionError:
        why = f"not open to this user: run as root, or `chmod 666 {tun}` as root"
    except OSError as error:
        why = f"cannot be opened: {error.strerror}"
    else:
        return
    raise ToolMissing(f"emulation: {tun}: {why}")


def may_unshare(flags: int) -> bool:
    """Whether a process of this user may leave its namespaces: a child tries it, as none can come back."""
    trial = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare({flags}) != 0)"
    return subprocess.run([sys.executable, "-c", trial], capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class EmulationTools:
    """The builds of tor, and the path of the link emulator."""

    tors: HostTors
    linkem: Path


def find_tools(run: RunSpec) -> EmulationTools:
    """Both programs, tor of the builds that ``run`` asks for; ToolMissing for the first that is not there."""
    return EmulationTools(find_host_tors(run), require_linkem())


def require_linkem() -> Path:
    """The program linkem; ToolMissing when it is not there."""
    return require_own_program("linkem")


START_S, START_S_PER_CLIENT = 15, 0.06
"""docs/emulation.md: from the first process to time 0."""

CORES_PER_HOST = 0.0027
"""docs/emulation.md: 0.8 of a core for 316 hosts, all of whose relays are busy."""

BUSY_SHARE_OF_CORES = 0.7
"""The share of the cores' time that a run may take: if it takes more, processes wait for each other."""

FILES_PER_HOST = 4
"""Open files of the engine and of the link emulator together."""

LEAST_CORES = 2
"""A process that becomes busy finds a core of its run free; docs/emulation.md has what two runs on two cores
do to each other."""


def cores(host_count: int) -> int:
    """The cores that a run needs for itself; others may run beside it on those that are left."""
    return max(LEAST_CORES, math.ceil(CORES_PER_HOST * host_count / BUSY_SHARE_OF_CORES))
