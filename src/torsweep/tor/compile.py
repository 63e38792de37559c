"""configure and make, out of tree, with progress and a message that says what failed.

In: a source tree and an empty place for the build. Out: the build tree; what the tools print goes to a
log, and one line at a time to standard error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from torsweep.errors import OutputError, TorsweepError

WITHOUT = (
    "asciidoc",
    "manpage",
    "html-manual",
    "lzma",
    "zstd",
    "systemd",
    "seccomp",
)
"""Parts of tor that no experiment needs, each with a dependency of its own."""

PROGRESS_EVERY_S = 10.0

FULL_BYTES = 8_000_000
"""If a build fails on a disk with less room than this, the disk is the reason; a compiler's message seldom
says so."""


def configure_flags(*, tests: bool) -> list[str]:
    """The options that configure is given."""
    return [*(f"--disable-{part}" for part in WITHOUT), *([] if tests else ["--disable-unittests"])]


def configure(tree: Path, build: Path, log: Path, *, tests: bool) -> list[str]:
    """Configure the source ``tree`` in ``build``; return the flags. TorsweepError when it fails."""
    flags = configure_flags(tests=tests)
    build.mkdir(parents=True)
    _say("configuring (about half a minute)")
    _run([str((tree / "configure").resolve()), "--quiet", *flags], build, log, "configure")
    return flags


def compile_tor(build: Path, log: Path, targets: Sequence[str], jobs: int) -> None:
    """Make ``targets`` in the configured ``build`` with ``jobs`` at a time; TorsweepError when it fails."""
    dry_run = subprocess.run(
        ["make", "--dry-run", *targets], cwd=build, capture_output=True, text=True, check=False, env=_plain()
    )
    total = len(re.findall(r'echo "  CC  ', dry_run.stdout))
    _say(f"compiling {total} files, {jobs} at a time" if total else "compiling")
    _run(["make", f"--jobs={jobs}", *targets], build, log, "make", total)


def _run(command: list[str], folder: Path, log: Path, what: str, total: int = 0) -> None:
    """Run ``command`` with its output appended to ``log``, and say how far it is now and then."""
    start = said = time.monotonic()
    compiled = 0
    with log.open("a", encoding="utf-8") as written:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_plain(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                written.write(line)
                compiled += line.startswith("  CC  ")
                now = time.monotonic()
                if total and now - said >= PROGRESS_EVERY_S:
                    left_s = (now - start) * max(total - compiled, 0) / max(compiled, 1)
                    _say(f"compiled {compiled} of {total} files, about {left_s:.0f} s left")
                    said = now
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code and shutil.disk_usage(folder).free < FULL_BYTES:
        raise OutputError(f"{folder}: {what} of tor failed: no space left on the device")
    if code:
        raise TorsweepError(f"{what} of tor failed: {first_error(log.read_text(encoding='utf-8'), code)}")


def first_error(text: str, code: int) -> str:
    """The line of a build's log that says what went wrong first, else its last line, else its exit code.

    If the first complaint is make's, the line before it says what is wrong.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if re.search(r"No space left on device|\berror: |undefined reference", line):
            return line
    for before, line in pairwise(["", *lines]):
        if "*** " in line:
            return line if before.startswith("CC ") or not before else f"{before} ({line})"
    return lines[-1] if lines else f"exit code {code}"


def _plain() -> dict[str, str]:
    """The environment without what a make around this process would hand down to ours."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return {**inherited, "LC_ALL": "C"}


def _say(text: str) -> None:
    print(f"tor: {text}", file=sys.stderr, flush=True)
