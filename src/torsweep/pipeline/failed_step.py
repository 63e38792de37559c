"""How a pipeline ends one of whose steps failed.

In: ``results/logs/failed_step``, in which a step that fails leaves its exit code and the name of its log
(rules/step.sh). Out: what the step said last, below all else, and its exit code: a refusal ends with 2 and
a missing tool with 3, as from every other command; Snakemake alone would end with 1. Where the disk
is full there may be no room for a log, nor for Snakemake's own files: then the disk itself is asked.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, OutputError, ToolMissing
from torsweep.pipeline.results_tree import RESULTS

FAILED_STEP = RESULTS / "logs" / "failed_step"

_FULL_BYTES = 1 << 16
"""With less room than this, a step cannot even leave its log."""

_ROOM_BYTES = 4096
"""A path is at most this long; a step writes in place, which a full disk allows."""

_TOLD = ("torsweep: ", "cellsim: ", "linkem: ", "plotting: ")
"""How the one line begins in which a program says what a user can put right."""

_LAST_LINES = 12
"""How many last lines are shown of a log without such a line: a traceback, or another program's messages."""


@dataclass(frozen=True)
class FailedStep:
    """The exit code of a step and its log."""

    exit_code: int
    log: Path

    def words(self) -> str:
        """What the step said last, with the name of its log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            told = [line for line in lines if line.startswith(_TOLD)]
            if told:
                return f"{told[-1]} ({self.log})"
            last = _end_of(self.log)
        except OSError:
            last = ""
        return f"{last}torsweep: a step failed with exit code {self.exit_code} ({self.log})"


def forget_failed_step(file: Path = FAILED_STEP) -> None:
    """Make room for what a step of this pipeline may leave. Raises OSError where that cannot be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(" " * _ROOM_BYTES, encoding="utf-8")


def read_failed_step(file: Path = FAILED_STEP) -> FailedStep | None:
    """What a step left in ``file``; None when none did, as when it was killed."""
    try:
        code, _, log = file.read_text(encoding="utf-8", errors="replace").partition("\n")[0].partition(" ")
    except OSError:
        return None
    return FailedStep(int(code), Path(log.strip())) if code.isdigit() else None


def watch_disk(results: Path) -> None:
    """When this process ends, let it end with one line and exit code 2 if it failed and the disk is full."""
    atexit.register(_end_full, results)


def end_done() -> None:
    """The pipeline has succeeded, however full the disk is."""
    atexit.unregister(_end_full)


def _end_full(results: Path) -> None:
    try:
        full = shutil.disk_usage(results).free < _FULL_BYTES
    except OSError:
        return
    if full:
        print(f"torsweep: {results}: No space left on device", file=sys.stderr, flush=True)
        sys.stdout.flush()
        # Snakemake has its own exit code under way, which only this changes.
        os._exit(OutputError.exit_code)


def end_failed(snakemake_logs: Sequence[str], file: Path = FAILED_STEP) -> None:
    """Say what the failed step said; end the process if it was refused or lacked a tool, else return.

    Where no step left anything, what Snakemake itself said last is shown from its logs.
    """
    failed = read_failed_step(file)
    if failed is None:
        for log in snakemake_logs:
            print(_end_of(Path(log)), end="", file=sys.stderr, flush=True)
        return
    print(failed.words(), file=sys.stderr, flush=True)
    if failed.exit_code in (InputError.exit_code, ToolMissing.exit_code):
        end_done()
        sys.exit(failed.exit_code)


def _end_of(log: Path) -> str:
    """The last lines of ``log``, indented; OSError passes through."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "".join(f"    {line}\n" for line in lines[-_LAST_LINES:])
