"""Building tor, out of tree: what it needs of the machine, configure and make.

In: the compiler in ``CC`` or on PATH, with its usual flags; a source tree. Out: the build tree, a log, and
what is done on standard error. A ToolMissing names Debian's packages.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from torsweep.errors import ToolMissing, TorsweepError
from torsweep.tor.builds import configure_flags

PACKAGES = "gcc libc6-dev make patch libevent-dev libssl-dev zlib1g-dev"
"""Debian's packages of all that building tor needs."""

_PROBE = """
#include <event2/event.h>
#include <openssl/ssl.h>
#include <zlib.h>
int main(void) { return event_base_new() == 0 || SSL_CTX_new(TLS_method()) == 0 || zlibVersion()[0] == 0; }
"""
_LINK = ("-levent", "-lssl", "-lcrypto", "-lz")

AUTOTOOLS = {"autoreconf": "autoconf", "automake": "automake"}
"""Programs that make configure, by Debian's package."""


def make_configure(tree: Path, log: Path) -> None:
    """Make the configure of a source ``tree`` that has none, as its autogen.sh does."""
    missing = [package for program, package in AUTOTOOLS.items() if shutil.which(program) is None]
    if missing:
        raise ToolMissing(
            f"a source of tor without configure needs {', '.join(missing)}, not found here:"
            f" apt-get install {' '.join(missing)}"
        )
    say("making configure (about half a minute)")
    # Warnings about old macros depend on the version of autoconf.
    run_step(["autoreconf", "--install", "--force", "--warnings=none"], tree, log, "autoreconf of tor")


def check_requirements() -> None:
    """Raise ToolMissing, with what is missing and its packages, unless tor can be built here."""
    missing = [program for program in ("make", "patch") if shutil.which(program) is None]
    if not can_build():
        missing.append("a C compiler with libevent, OpenSSL and zlib and their headers")
    if missing:
        raise ToolMissing(
            f"building tor needs {', '.join(missing)}, not found here: apt-get install {PACKAGES}"
        )


def can_build() -> bool:
    """Whether ``CC``, cc, gcc or clang makes a program with the libraries of tor and their headers."""
    compilers = [shlex.split(os.environ["CC"])] if os.environ.get("CC") else [["cc"], ["gcc"], ["clang"]]
    flags = [word for name in ("CPPFLAGS", "CFLAGS") for word in shlex.split(os.environ.get(name, ""))]
    link_flags = [*shlex.split(os.environ.get("LDFLAGS", "")), *_LINK]
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text(_PROBE, encoding="utf-8")
        for compiler in compilers:
            command = [*compiler, *flags, str(source), "-o", f"{folder}/probe", *link_flags]
            if shutil.which(compiler[0]) and not subprocess.run(command, capture_output=True).returncode:
                return True
    return False


def configure(tree: Path, build: Path, log: Path, *, tests: bool = False) -> list[str]:
    """Configure the source ``tree`` in ``build``; return the flags. TorsweepError when it fails."""
    flags = configure_flags(tests=tests)
    build.mkdir(parents=True)
    if not (tree / "configure").is_file():
        make_configure(tree, log)
    say("configuring (about half a minute)")
    run_step([str((tree / "configure").resolve()), "--quiet", *flags], build, log, "configure of tor")
    return flags


def compile_tor(build: Path, log: Path, targets: Sequence[str], jobs: int) -> None:
    """Make ``targets`` in the configured ``build`` with ``jobs`` at a time; TorsweepError when it fails."""
    say(f"compiling, {jobs} at a time (a minute or two)")
    run_step(["make", f"--jobs={jobs}", *targets], build, log, "make of tor")


def run_step(command: list[str], folder: Path, log: Path, what: str) -> None:
    """Run ``command``, its output appended to ``log``; TorsweepError with the first complaint of ``what``."""
    with log.open("a", encoding="utf-8") as written:
        code = subprocess.run(
            command,
            cwd=folder,
            env=_plain(),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code:
        lines = first_error(log.read_text(encoding="utf-8", errors="replace"), code)
        for line in lines:
            say(f"  {line}")
        raise TorsweepError(f"{what} failed: {lines[0]}")


@contextlib.contextmanager
def log_kept(log: Path, failed: Path) -> Iterator[None]:
    """Where the block raises TorsweepError, copy ``log`` to ``failed``, if there is room, and name it."""
    try:
        yield
    except TorsweepError as error:
        with contextlib.suppress(OSError):
            shutil.copyfile(log, failed)
        raise type(error)(f"{error}; log: {failed}") if failed.is_file() else error from None


_WRONG = re.compile(r"No space left on device|\berror: |undefined reference")
LINES_SHOWN = 6


def first_error(text: str, code: int) -> list[str]:
    """The line of a build's log that says what went wrong first, and those after it: else its last line.

    If the first complaint is make's, the line before it says what is wrong.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [f"exit code {code}"]
    for place, line in enumerate(lines):
        if _WRONG.search(line):
            return lines[place : place + LINES_SHOWN]
    for before, line in pairwise(["", *lines]):
        if "*** " in line:
            return [line if before.startswith("CC ") or not before else f"{before} ({line})"]
    return lines[-1:]


def _plain() -> dict[str, str]:
    """The environment without what a make around this process would hand down to ours."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return {**inherited, "LC_ALL": "C"}


def say(text: str) -> None:
    """Print ``text`` on standard error, about the tor that is being built."""
    print(f"tor: {text}", file=sys.stderr, flush=True)
