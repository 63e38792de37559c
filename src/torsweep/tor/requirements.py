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
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import ToolMissing

PROGRAMS = {"make": "make", "patch": "patch"}
"""Program by Debian's package, beside the compiler."""


@dataclass(frozen=True)
class Library:
    """A library with a program that compiles and links only where its headers and itself are there."""

    name: str
    package: str
    program: str
    link: tuple[str, ...]


LIBRARIES = (
    Library(
        "libevent",
        "libevent-dev",
        "#include <event2/event.h>\nint main(void) { return event_base_new() == 0; }\n",
        ("-levent",),
    ),
    Library(
        "OpenSSL",
        "libssl-dev",
        "#include <openssl/ssl.h>\nint main(void) { return SSL_CTX_new(TLS_method()) == 0; }\n",
        ("-lssl", "-lcrypto"),
    ),
    Library(
        "zlib",
        "zlib1g-dev",
        "#include <zlib.h>\nint main(void) { return zlibVersion()[0] == 0; }\n",
        ("-lz",),
    ),
)


def check_requirements() -> None:
    """Return when tor can be built here; ToolMissing with what is missing and its packages otherwise."""
    missing = [(program, package) for program, package in PROGRAMS.items() if shutil.which(program) is None]
    compiler = find_compiler()
    if compiler is None:
        missing.insert(0, ("a C compiler", "gcc libc6-dev"))
    else:
        missing += [
            (f"{library.name} with its headers", library.package)
            for library in LIBRARIES
            if not can_link(compiler, library)
        ]
    if missing:
        what = ", ".join(name for name, _ in missing)
        packages = " ".join(package for _, package in missing)
        raise ToolMissing(f"building tor needs {what}, not found here: apt-get install {packages}")


def find_compiler() -> list[str] | None:
    """The compiler's command line: ``CC``, else cc or gcc on PATH; None when none makes a program."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for candidate in [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]:
        bare = Library("C", "gcc", '#include <stdio.h>\nint main(void) { return puts(""); }\n', ())
        if shutil.which(candidate[0]) is not None and can_link(candidate, bare):
            return candidate
    return None


def can_link(compiler: list[str], library: Library) -> bool:
    """Whether ``compiler`` makes a program of the library's test program."""
    flags = [word for name in ("CPPFLAGS", "CFLAGS") for word in shlex.split(os.environ.get(name, ""))]
    link_flags = shlex.split(os.environ.get("LDFLAGS", ""))
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text(library.program, encoding="utf-8")
        command = [
            *compiler,
            *flags,
            str(source),
            "-o",
            str(source.with_suffix("")),
            *link_flags,
            *library.link,
        ]
        answer = subprocess.run(command, capture_output=True, check=False)
    return answer.returncode == 0
