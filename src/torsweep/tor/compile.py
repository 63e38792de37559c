"""Building tor, out of tree: what it needs of the machine, configure and make.

In: the compiler in ``CC`` or on PATH, with its usual flags; a source tree. Out: the build tree, a log, and
what is done on standard error. A ToolMissing names everything that is missing at once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from torsweep.errors import ToolMissing, TorsweepError
from torsweep.tor.builds import configure_flags

NEEDED_PROGRAMS = {"make": "make", "patch": "patch"}
"""Program by Debian's package, beside the compiler."""


@dataclass(frozen=True)
class Library:
    """A library with a header of it, a call of it that gives 0 where all is well, and how to link it."""

    name: str
    package: str
    header: str
    call: str
    link: tuple[str, ...]


NEEDED_LIBRARIES = (
    Library("libevent", "libevent-dev", "event2/event.h", "event_base_new() == 0", ("-levent",)),
    Library(
        "OpenSSL", "libssl-dev", "openssl/ssl.h", "SSL_CTX_new(TLS_method()) == 0", ("-lssl", "-lcrypto")
    ),
    Library("zlib", "zlib1g-dev", "zlib.h", "zlibVersion()[0] == 0", ("-lz",)),
)

NO_LIBRARY = Library("C", "gcc libc6-dev", "stdio.h", 'puts("") == EOF', ())
"""What every compiler has to have."""


AUTOTOOLS = {"autoreconf": "autoconf", "automake": "automake"}
"""Programs that make configure, by Debian's package."""


def make_configure(tree: Path, log: Path) -> None:
    """Make the configure of a source ``tree`` that has none, as its autogen.sh does.

    Warnings about old macros do not count: they depend on the version of autoconf. Raises ToolMissing
    without the programs for it, TorsweepError when they fail.
    """
    missing = [package for program, package in AUTOTOOLS.items() if shutil.which(program) is None]
    if missing:
        raise ToolMissing(
            f"a source of tor without configure needs {', '.join(missing)}, not found here:"
            f" apt-get install {' '.join(missing)}"
        )
    say("making configure (about half a minute)")
    run_step(["autoreconf", "--install", "--force", "--warnings=none"], tree, log, "autoreconf of tor")


def check_requirements() -> None:
    """Return when tor can be built here; ToolMissing with what is missing and its packages otherwise."""
    missing = [
        (program, package) for program, package in NEEDED_PROGRAMS.items() if shutil.which(program) is None
    ]
    # One program that calls everything takes a quarter of the time of one for each.
    if not missing and any(can_link(compiler, NEEDED_LIBRARIES) for compiler in _compilers()):
        return
    compiler = find_compiler()
    if compiler is None:
        missing.insert(0, ("a C compiler", NO_LIBRARY.package))
    else:
        missing += [
            (f"{library.name} with its headers", library.package)
            for library in NEEDED_LIBRARIES
            if not can_link(compiler, [library])
        ]
    if missing:
        what = ", ".join(name for name, _ in missing)
        packages = " ".join(package for _, package in missing)
        raise ToolMissing(f"building tor needs {what}, not found here: apt-get install {packages}")


def find_compiler() -> list[str] | None:
    """The compiler's command line: ``CC``, else cc or gcc on PATH; None when none makes a program."""
    return next((compiler for compiler in _compilers() if can_link(compiler, [NO_LIBRARY])), None)


def _compilers() -> list[list[str]]:
    """Command lines that may be a compiler's, in the order of preference."""
    chosen = shlex.split(os.environ.get("CC", ""))
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    return [candidate for candidate in candidates if shutil.which(candidate[0]) is not None]


def can_link(compiler: list[str], libraries: Sequence[Library]) -> bool:
    """Whether ``compiler`` makes a program that calls all ``libraries``, with their headers."""
    flags = [word for name in ("CPPFLAGS", "CFLAGS") for word in shlex.split(os.environ.get(name, ""))]
    link_flags = shlex.split(os.environ.get("LDFLAGS", ""))
    link_flags += [word for library in libraries for word in library.link]
    headers = "".join(f"#include <{library.header}>\n" for library in libraries)
    calls = " || ".join(library.call for library in libraries)
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text(f"{headers}int main(void) {{ return {calls}; }}\n", encoding="utf-8")
        command = [*compiler, *flags, str(source), "-o", str(source.with_suffix("")), *link_flags]
        answer = subprocess.run(command, capture_output=True, check=False)
    return answer.returncode == 0


def configure(tree: Path, build: Path, log: Path, *, tests: bool) -> list[str]:
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
    """Run ``command`` in ``folder`` with its output appended to ``log``.

    Raises TorsweepError with the first complaint of ``what``.
    """
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
