"""What building tor needs from the machine: programs and headers, each with Debian's package of it.

In: the compiler in ``CC`` or on PATH, with ``CPPFLAGS``, ``CFLAGS`` and ``LDFLAGS``. Out: nothing, or a
ToolMissing that names everything that is missing at once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import ToolMissing

PROGRAMS = {"make": "make", "patch": "patch"}
"""Program by Debian's package, beside the compiler."""


@dataclass(frozen=True)
class Library:
    """A library with a header of it, a call of it that gives 0 where all is well, and how to link it."""

    name: str
    package: str
    header: str
    call: str
    link: tuple[str, ...]


LIBRARIES = (
    Library("libevent", "libevent-dev", "event2/event.h", "event_base_new() == 0", ("-levent",)),
    Library(
        "OpenSSL", "libssl-dev", "openssl/ssl.h", "SSL_CTX_new(TLS_method()) == 0", ("-lssl", "-lcrypto")
    ),
    Library("zlib", "zlib1g-dev", "zlib.h", "zlibVersion()[0] == 0", ("-lz",)),
)

NO_LIBRARY = Library("C", "gcc libc6-dev", "stdio.h", 'puts("") == EOF', ())
"""What every compiler has to have."""


def check_requirements() -> None:
    """Return when tor can be built here; ToolMissing with what is missing and its packages otherwise."""
    missing = [(program, package) for program, package in PROGRAMS.items() if shutil.which(program) is None]
    # One program that calls everything takes a quarter of the time of one for each.
    if not missing and any(can_link(compiler, LIBRARIES) for compiler in _compilers()):
        return
    compiler = find_compiler()
    if compiler is None:
        missing.insert(0, ("a C compiler", NO_LIBRARY.package))
    else:
        missing += [
            (f"{library.name} with its headers", library.package)
            for library in LIBRARIES
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
