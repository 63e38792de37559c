"""The programs of a run in the emulation: each is started on its host, and ended, at its time.

In: a network that runs, what counts as time 0. Out: processes among the network's own; an error for a program
that ends when it should not, or leaves too much.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

from torsweep.engines.emulation.network import RunningNetwork
from torsweep.engines.emulation.processes import Child, end, sleep_until
from torsweep.engines.programs import CAPTURE_FILE, CAPTURED_BYTES, HostProgram, kept_files
from torsweep.errors import ToolMissing, TorsweepError

LINK = "link0"
"""What linkem calls the device of a host."""


def capture_command() -> list[str]:
    """The command that keeps the packets of a host; ToolMissing without tcpdump."""
    program = shutil.which("tcpdump", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise ToolMissing("tcpdump: not on PATH; it keeps the packets of tracing.packets")
    # Packets are written at once, and by this user.
    return [program, "-i", LINK, "-n", "-U", "-Z", "root", "-s", str(CAPTURED_BYTES), "-w", CAPTURE_FILE]


class RunningPrograms:
    """The ``programs`` of a run whose time 0 is ``zero_ns``, monotonic."""

    def __init__(self, running: RunningNetwork, programs: list[HostProgram], zero_ns: int) -> None:
        self.programs = programs
        self._running, self.zero_ns = running, zero_ns
        self._children: dict[str, Child] = {}

    async def run(self) -> None:
        """Start and end each of them; ends by an error alone."""
        await asyncio.gather(*map(self._one, self.programs))
        await asyncio.Event().wait()

    async def _one(self, program: HostProgram) -> None:
        does, folder = program.does, self.folder(program.host)
        folder.mkdir(parents=True, exist_ok=True)
        await sleep_until(self.zero_ns + does.begin_ns)
        log, namespace = folder / f"{program.name}.log", self._running.namespaces[program.host]
        start = self._running.processes.start
        child = start(program.name, program.command, log, namespace=namespace, folder=folder)
        self._children[program.name] = child
        if does.ends:
            child.may_end.add(0)
        if does.until_ns is not None:
            await sleep_until(self.zero_ns + does.until_ns)
            self._running.processes.check()
            child.may_end.add(-signal.SIGTERM)
            end(child)

    def folder(self, host: str) -> Path:
        """The folder in which programs of ``host`` work."""
        return self._running.layout.programs_folder / host

    def check(self) -> None:
        """Raise TorsweepError where one has left more than it may."""
        for program in self.programs:
            kept_files(program, self.folder(program.host))

    def require_ended(self) -> None:
        """Raise TorsweepError for one that was to end by itself, and runs."""
        for program in self.programs:
            child = self._children.get(program.name)
            if program.does.ends and (child is None or child.handle.poll() is None):
                raise TorsweepError(f"{program.name}: had not ended by itself when the run ended")
