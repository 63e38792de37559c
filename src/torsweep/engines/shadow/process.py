"""Shadow as a child process: started, followed, and ended together with this process.

In: a simulation written in a folder. Out: Shadow's exit, with every line of its standard error handed to
whoever watches; what it prints on standard output is kept in ``shadow.log``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue

from torsweep.engines.shadow.failures import shadow_failure
from torsweep.engines.shadow.simulate import Simulation
from torsweep.errors import TorsweepError

CONFIGURATION = "shadow.yaml"
LOG_FILE = "shadow.log"

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def run_simulation(simulation: Simulation, folder: Path, shadow: Path) -> None:
    """Write the configuration into ``folder`` and run it to its end, unwatched: for short ones.

    Raises TorsweepError with what Shadow says when it fails.
    """
    (folder / CONFIGURATION).write_text(simulation.text(folder))
    said: list[str] = []
    with shadow_process(shadow, folder) as process:
        for line in process.lines():
            if line:
                said.append(line)
        code = process.wait()
    if code:
        raise TorsweepError(f"{folder.name}: {shadow_failure(folder, said)}")


class ShadowProcess:
    """A running Shadow."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, name="shadow-stderr", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id, which is that of its process group too."""
        return self._process.pid

    def lines(self, patience_s: float = 1.0) -> Iterator[str]:
        """The lines of its standard error until it ends; an empty one whenever there was none for a while."""
        while True:
            try:
                line = self._lines.get(timeout=patience_s)
            except Empty:
                yield ""
                continue
            if line is None:
                return
            yield line

    def wait(self) -> int:
        """Its exit code; negative for the signal that ended it."""
        return self._process.wait()

    def kill(self) -> None:
        """End it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.put(line.decode(errors="replace").rstrip())
        self._lines.put(None)


@contextlib.contextmanager
def shadow_process(
    program: Path, folder: Path, cores: Sequence[int] | None = None
) -> Iterator[ShadowProcess]:
    """Shadow at work on ``folder``, on ``cores`` when given; killed when the block is left before its end.

    Its data folder is removed first, as Shadow refuses to write into one that is there. The kernel kills
    Shadow when this process dies, and with it the processes that it manages.
    """
    shutil.rmtree(folder / "data", ignore_errors=True)
    parent = os.getpid()

    def settle() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if cores is not None:
            os.sched_setaffinity(0, cores)

    with (folder / LOG_FILE).open("wb") as log:
        process = ShadowProcess(
            subprocess.Popen(
                [program, CONFIGURATION],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=settle,
            )
        )
    try:
        yield process
    finally:
        process.kill()
