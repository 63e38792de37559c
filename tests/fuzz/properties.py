"""What no command may do with any input.

In: a command line, the folder of its inputs, the folder of its output. Out: nothing, or an AssertionError
that says what did not hold: the exit code is one that the command may end with, 0 or 2 for most; what is
refused is refused in one line, no panic and no traceback shows, it takes less than 10 s of processor time and
1 GB, and nothing is displaced: the inputs are what they were, the output is whole or is not there, and
nothing else is left.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from torsweep.cli import main

MOST_CPU_S = 10
MOST_BYTES = 10**9
_RESERVED_BYTES = 5 * 10**8
"""Writable memory that libraries map and do not use: stacks and arenas of their threads."""


class Outcome(NamedTuple):
    """Exit code, and the text on standard error."""

    code: object
    said: str


def require_sound(outcome: Outcome, codes: tuple[int, ...] = (0, 2)) -> None:
    """AssertionError unless the command ended with one of ``codes``, and said a no in one line."""
    said = outcome.said.strip("\n")
    assert outcome.code in codes, f"exit code {outcome.code}: {said[-2000:]}"
    assert "panicked" not in said and "Traceback" not in said, said[-2000:]
    if outcome.code:
        assert len(said.splitlines()) == 1, f"not one line: {said[-2000:]}"
        assert len(said) < 2000, f"a line of {len(said)} characters: {said[:300]}"


def require_undisturbed(folder: Path, before: Mapping[str, bytes]) -> None:
    """AssertionError unless ``folder`` holds what it did."""
    after = contents(folder)
    assert after.keys() == before.keys(), f"left or gone: {sorted(after.keys() ^ before.keys())}"
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"inputs changed: {changed}"


def require_whole_or_nothing(folder: Path, marker: str | None) -> None:
    """AssertionError unless ``folder`` holds nothing, or only ``out`` with its ``marker``."""
    held = sorted(os.listdir(folder))
    assert held in ([], ["out"]), f"left beside the output: {held}"
    if held and marker:
        assert (folder / "out" / marker).is_file(), "an output without its main file"
        hidden = [
            name
            for name in os.listdir(folder / "out")
            if name.startswith(".") and name not in (".lock", ".torsweep")
        ]
        assert not hidden, f"left in the output: {hidden}"


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below ``folder``, by its name."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def run_inside(arguments: Sequence[str]) -> Outcome:
    """Run torsweep's command line in this process, as its launcher does."""
    # 5 sets the peak to what is held now (proc(5)): what earlier commands took is not this one's.
    Path("/proc/self/clear_refs").write_text("5")
    held = _memory_bytes("VmRSS")
    with _standard_error() as said, contextlib.redirect_stdout(io.StringIO()), _limited(), _bounded():
        try:
            main(list(arguments))
        except SystemExit as stop:
            code = stop.code
    took = _memory_bytes("VmHWM") - held
    assert took < MOST_BYTES, f"took {took / 1e9:.1f} GB"
    return Outcome(code, said.getvalue())


def _memory_bytes(key: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024  # type: ignore[index]


@contextlib.contextmanager
def _standard_error() -> Iterator[io.StringIO]:
    """What is written to descriptor 2, whichever language wrote it."""
    said = io.StringIO()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.redirect_stderr(
                io.TextIOWrapper(os.fdopen(os.dup(2), "wb"), "utf-8", "backslashreplace")
            ):
                yield said
                sys.stderr.flush()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said.write(file.read().decode("utf-8", "replace"))


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """AssertionError after ten seconds of processor time, so that a busy machine fails nothing."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"took more than {MOST_CPU_S} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """No more memory than a command may take, so that a defect ends a test and not the machine."""
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _memory_bytes("VmData") + MOST_BYTES + _RESERVED_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def run_program(command: Sequence[str]) -> Outcome:
    """Run another program under the limits, which the system enforces."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    answer = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, preexec_fn=limit
    )
    return Outcome(answer.returncode, answer.stderr)
