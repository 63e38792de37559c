"""Shadow as a child process: started on cores of its own, followed, and ended together with this process.

In: a simulation written in a folder. Out: Shadow's exit and the lines of its standard error; what it prints
is in ``shadow.log``. Where it fails, one line names the process that failed first, with its last words.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue

from torsweep.engines.machine_lock import locked_cores
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, SHADOW_YAML, ShadowSimulation
from torsweep.errors import TorsweepError

_EXIT = re.compile(r"process '(?P<host>[^.']+)\.(?P<program>[^']+)\.(?P<pid>\d+)' (?P<what>exited .*|.*)")
_TOR_STAMP = re.compile(r"^[A-Z][a-z]{2} \d\d [\d:.]+ ")


def process_failure(line: str, folder: Path) -> str | None:
    """The failed process that ``line`` reports, with its last output; None for other lines."""
    match = _EXIT.search(line)
    if match is None or "expected end state" not in line:
        return None
    ended = match["what"].split(";")[0]
    words = last_words(folder, match["host"], match["program"], match["pid"])
    return f"{match['program']} of {match['host']} {ended}" + (f": {words}" if words else "")


def last_words(folder: Path, host: str, program: str, pid: str) -> str:
    """The last error in a process's logs, else its last line; empty when it said nothing."""
    lines: list[str] = []
    for stream in ("stdout", "stderr"):
        try:
            text = (folder / HOSTS_FOLDER / host / f"{program}.{pid}.{stream}").read_text(errors="replace")
        except OSError:
            continue
        lines += [line.strip() for line in text.splitlines() if line.strip()]
    # tor's warning says what is wrong; the error after it says only that something is wrong.
    warned = [line for line in lines if "[warn] Failed" in line or "[err]" in line]
    word = (warned or lines or [""])[0 if warned else -1]
    return _TOR_STAMP.sub("", word)


def shadow_failure(folder: Path, lines: Sequence[str]) -> str:
    """Why Shadow ended badly: the first process that did, else its own words."""
    for line in lines:
        failure = process_failure(line, folder)
        if failure:
            return failure
    messages = [line.removeprefix("**").strip() for line in lines if line.startswith("**")]
    reasons = [line for line in messages if line and not line.startswith(("Starting", "See the log"))]
    return "; ".join(reasons) or (lines[-1] if lines else "Shadow ended without a word")


@contextlib.contextmanager
def claimed_cores(count: int, claims: Path | None = None) -> Iterator[tuple[int, ...]]:
    """Cores of this process's set that no other run holds: ``count`` of them, or all of them for 0. Where
    fewer are free, the whole set is given, unclaimed: the run is then slower, not wrong. ``claims`` is the
    folder of the claims, by default one for each user of the machine."""
    allowed = sorted(os.sched_getaffinity(0))
    folder = claims or Path(tempfile.gettempdir()) / f"torsweep-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with locked_cores(folder / "core", count or len(allowed)) as free:
        yield tuple(free if free and len(free) >= count else allowed)


LOG_FILE = "shadow.log"

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def run_simulation(simulation: ShadowSimulation, folder: Path, shadow: Path) -> None:
    """Write the configuration into ``folder`` and run it to its end, unwatched; TorsweepError with what
    Shadow says when it fails."""
    (folder / SHADOW_YAML).write_text(simulation.text(folder))
    with shadow_process(shadow, folder) as process:
        lines = [line for line in process.lines() if line]
        code = process.wait()
    if code:
        raise TorsweepError(f"{folder.name}: {shadow_failure(folder, lines)}")


class ShadowProcess:
    """A running Shadow."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, name="shadow-stderr", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its id, and that of its process group."""
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
        """Its exit code, once it has ended; negative for the signal that ended it."""
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
    The kernel kills it and the processes that it manages when this process dies."""
    # Shadow refuses to write into a data folder that is there.
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
                [program, SHADOW_YAML],
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
