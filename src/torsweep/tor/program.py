"""A tor that is built already: whether it runs here, its version, and the tor-gencert that goes with it.

In: the path of a program. Out: what it answers to ``--version``, or one line that says why it cannot be used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, ToolMissing

GENCERT = "tor-gencert"
PATIENCE_S = 10
"""tor answers within a second, or hangs."""


@dataclass(frozen=True)
class Answer:
    """tor's version, and the versions of the libraries that it runs with, by name."""

    version: str
    libraries: dict[str, str]


def ask_version(program: Path) -> Answer:
    """What ``program`` answers to ``--version``; InputError when it is no tor, or does not run here."""
    try:
        answer = subprocess.run(
            [program.resolve(), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"does not say its version within {PATIENCE_S} s", file=program) from None
    except OSError as error:
        accepted = "a tor built for this machine"
        raise InputError(f"does not start: {error.strerror}", file=program, accepted=accepted) from None
    version = re.search(r"^Tor version (\d[\w.+-]*)", answer.stdout, re.MULTILINE)
    if answer.returncode or version is None:
        said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[0]
        raise InputError(f"does not run here as tor; its answer to --version is: {said}", file=program)
    named = re.findall(r"\b(Libevent|OpenSSL|Zlib|Glibc|GCC) (?:version )?(\d[\w.+-]*)", answer.stdout)
    return Answer(version[1].rstrip("."), {name: number.rstrip(".") for name, number in named})


def gencert_beside(program: Path, others: Sequence[Path] = ()) -> Path:
    """The tor-gencert for ``program``: beside it, in its build tree, of ``others``, or on PATH.

    One of another version will do: it only makes certificates of keys. Raises ToolMissing without any.
    """
    folder = program.resolve().parent
    places = [folder / GENCERT, folder.parent / "tools" / GENCERT, *others]
    found = next((place for place in places if os.access(place, os.X_OK) and place.is_file()), None)
    on_path = shutil.which(GENCERT)
    if found is None and on_path is None:
        raise ToolMissing(
            f"{GENCERT}: not beside {program}, nor on PATH; `make src/tools/{GENCERT}` in tor's build tree"
            " makes it, and so does `torsweep tor build`"
        )
    return found or Path(on_path or "")
