"""The names that Debian's tor knows: consensus parameters and options of a torrc.

In: ``names.txt``, which ships; it is made from tor's source with

    python -m torsweep.tor.names results/tools/tor/downloads/package/tor_VERSION.orig.tar.gz

Out: the names, or an InputError for one that tor does not know, with the closest that it does.
"""

from __future__ import annotations

import functools
import re
import sys
import tarfile
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from torsweep.config.reading import suggestion
from torsweep.errors import InputError

NAMES_FILE = Path(__file__).with_name("names.txt")

_PARAMETER = re.compile(
    r'(?:param(?:_value)?\w*\s*\([^"();]*,|param_name =|[a-z]_str =(?= "cc_))'
    r'(?:\s|/\*.*?\*/)*"([A-Za-z][\w-]+)"',
    re.DOTALL,
)
_OPTION = re.compile(r'^\s*(?:CONF_VAR|OBSOLETE|V[A-Z_]*)\(\s*"?(\w+)', re.MULTILINE)


@functools.cache
def known_names(kind: str) -> tuple[str, ...]:
    """The names of a ``kind``: ``parameter`` or ``option``."""
    lines = (line.split() for line in NAMES_FILE.read_text(encoding="utf-8").splitlines())
    return tuple(name for named, name in lines if named == kind)


def require_known(
    torrc: Iterable[str], consensus: Iterable[str], key: Callable[[str, str], str], more: Container[str] = ()
) -> None:
    """InputError for an option of ``torrc`` or a parameter of the ``consensus`` that Debian's tor lacks.

    ``key`` says where a name of either kind stands, or would; ``more`` are options that patches add.
    """
    options = {name.lower() for name in known_names("option")}  # tor takes them in any case of letters.
    known = {"torrc": known_names("option"), "consensus": known_names("parameter")}
    called = {"torrc": "an option of a torrc", "consensus": "a consensus parameter"}
    for kind, other, names in (("torrc", "consensus", torrc), ("consensus", "torrc", consensus)):
        for name in names:
            if name in known[kind] or name in more or (kind == "torrc" and name.lower() in options):
                continue
            problem = f"is not {called[kind]} that Debian's tor knows{suggestion(name, known[kind])}"
            accepted = "tor's names; or a tor of your own that knows it"
            if name in known[other]:
                problem, accepted = f"is {called[other]}, not {called[kind]}", key(other, name)
            raise InputError(problem, key=key(kind, name), value=name, accepted=accepted)


def names_in(tarball: Path) -> Iterator[str]:
    """The lines of ``names.txt`` for the source in ``tarball``, without its tests."""
    lines: set[str] = set()
    with tarfile.open(tarball) as archive:
        for member in archive:
            opened = archive.extractfile(member) if member.name.endswith((".c", ".h", ".inc")) else None
            if opened is None or "/src/test/" in member.name:
                continue
            text = opened.read().decode("utf-8", errors="replace")
            lines |= {f"parameter {name}" for name in _PARAMETER.findall(text)}
            if member.name.endswith(("app/config/config.c", "_options.inc")):
                lines |= {f"option {name}" for name in _OPTION.findall(text)}
    yield from sorted(lines)


if __name__ == "__main__":
    NAMES_FILE.write_text("".join(f"{line}\n" for line in names_in(Path(sys.argv[1]))), encoding="utf-8")
