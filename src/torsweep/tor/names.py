"""What Debian's tor knows: consensus parameters with the values that it takes, and options of a torrc.

In: ``names.txt``, which ships; it is made from tor's source with

    python -m torsweep.tor.names results/tools/tor/downloads/package/tor_VERSION.orig.tar.gz

Out: the names, or an InputError for one that tor does not know, with the closest that it does, and for a
value of a parameter that tor would replace with another.
"""

from __future__ import annotations

import functools
import re
import sys
import tarfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
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
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_RANGE = re.compile(r'param\s*\([^",]*,\s*"([\w-]+)",[^,;]*,\s*([^,;]+),\s*([^,;]+?)\)[^\w,]*[;/]')
_CONSTANT = re.compile(
    r"^\s*(?:#define[ \t]+)?(\w+)(?:[ \t]+|[ \t]*=[ \t]*)(-?[(\w].*?),?[ \t]*$", re.MULTILINE
)
_LIMITS = {"INT32_MAX": "2147483647", "INT16_MAX": "32767", "UINT16_MAX": "65535", "UINT8_MAX": "255"}


@functools.cache
def known_names(kind: str) -> Mapping[str, range | None]:
    """The names of a ``kind``, ``parameter`` or ``option``; with the range of values, where it is known."""
    lines = (line.split() for line in NAMES_FILE.read_text(encoding="utf-8").splitlines())
    return {name: _range(*bounds) for named, name, *bounds in lines if named == kind}


def _range(least: str = "", most: str = "") -> range | None:
    return range(int(least), int(most) + 1) if most else None


def require_known(
    torrc: Iterable[str],
    consensus: Mapping[str, int],
    key: Callable[[str, str], str],
    more: Container[str] = (),
) -> None:
    """InputError for an option of ``torrc`` or a parameter of the ``consensus`` that Debian's tor lacks.

    So is a value outside what tor's source says of a parameter: tor would take the nearest that is inside.
    ``key`` says where a name of either kind stands, or would; ``more`` are options that patches add.
    """
    options = {name.lower() for name in known_names("option")}  # tor takes them in any case of letters.
    known = {"torrc": known_names("option"), "consensus": known_names("parameter")}
    called = {"torrc": "an option of a torrc", "consensus": "a consensus parameter"}
    for kind, other, names in (("torrc", "consensus", torrc), ("consensus", "torrc", consensus)):
        for name in names:
            if name in known[kind] or name in more or (kind == "torrc" and name.lower() in options):
                continue
            problem = f"is not {called[kind]} that Debian's tor knows{suggestion(name, [*known[kind]])}"
            accepted = "tor's names; or a tor of your own that knows it"
            if name in known[other]:
                problem, accepted = f"is {called[other]}, not {called[kind]}", key(other, name)
            raise InputError(problem, key=key(kind, name), value=name, accepted=accepted)
    for name, value in consensus.items():
        taken = known["consensus"][name]
        if taken is not None and value not in taken:
            problem = f"tor would take {min(max(value, taken[0]), taken[-1])} in its place"
            accepted = f"{taken[0]} to {taken[-1]}"
            raise InputError(problem, key=key("consensus", name), value=f"{name}={value}", accepted=accepted)


def names_in(tarball: Path) -> Iterator[str]:
    """The lines of ``names.txt`` for the source in ``tarball``, without its tests."""
    options: set[str] = set()
    parameters: set[str] = set()
    calls: list[tuple[str, str, str]] = []
    constants = dict(_LIMITS)
    with tarfile.open(tarball) as archive:
        for member in archive:
            opened = archive.extractfile(member) if member.name.endswith((".c", ".h", ".inc")) else None
            if opened is None or "/src/test/" in member.name:
                continue
            text = opened.read().decode("utf-8", errors="replace")
            parameters |= set(_PARAMETER.findall(text))
            if member.name.endswith(("app/config/config.c", "_options.inc")):
                options |= set(_OPTION.findall(text))
            code = _COMMENT.sub("", text)
            calls += _RANGE.findall(code)
            constants |= dict(_CONSTANT.findall(code))
    ranges = {name: (_number(least, constants), _number(most, constants)) for name, least, most in calls}
    whole = {name: f" {least} {most}" for name, (least, most) in ranges.items() if least and most}
    yield from sorted(f"option {name}" for name in options)
    yield from sorted(f"parameter {name}{whole.get(name, '')}" for name in parameters)


def _number(text: str, constants: Mapping[str, str]) -> str:
    """What a bound in C comes to; empty where it takes more than constants, sums and products."""
    for _ in range(5):
        text = re.sub(r"[A-Za-z_]\w*", lambda name: f"({constants.get(name[0], name[0])})", text)
    return str(eval(text)) if re.fullmatch(r"[\d\s()+*-]+", text) else ""


if __name__ == "__main__":
    NAMES_FILE.write_text("".join(f"{line}\n" for line in names_in(Path(sys.argv[1]))), encoding="utf-8")
