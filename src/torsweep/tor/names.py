"""What Debian's tor knows: consensus parameters with the values that it takes, and options of a torrc.

In: ``names.txt``, which ships; it is made from tor's source with

    python -m torsweep.tor.names results/tools/tor/downloads/package/tor_VERSION.orig.tar.gz

Out: the names, or an InputError for one that tor does not know, with the closest that it does, and for a
value of a parameter that tor would replace with another; and the defaults in a source tree of tor.
"""

from __future__ import annotations

import ast
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
_OPTION_DEFAULT = re.compile(r'^\s*V[A-Z_]*\(\s*(\w+)\s*,\s*\w+\s*,\s*("[^"]*"|NULL)', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CALL = re.compile(r"\bnetworkstatus_get_(?:bridge_|overridable_)?param\s*\(")
_NAMED = r'\b{variable}\s*=\s*"([\w-]+)"'
_CONSTANT = re.compile(
    r"^\s*(?:#define[ \t]+)?(\w+)(?:[ \t]+|[ \t]*=[ \t]*)(-?[(\w].*?),?[ \t]*$", re.MULTILINE
)
_LIMITS = {"INT32_MAX": "2147483647", "INT16_MAX": "32767", "UINT16_MAX": "65535", "UINT8_MAX": "255"}

_SOME = {"cc_alg": (0, 2)}
"""Parameters of which tor takes only these values, and the last one in place of all others:
congestion_control_common.c has lost the algorithms 1 and 3 of proposal 324."""


@functools.cache
def known_names(kind: str) -> Mapping[str, range | None]:
    """The names of a ``kind``, ``parameter`` or ``option``; with the range of values, where it is known."""
    lines = (line.split() for line in NAMES_FILE.read_text(encoding="utf-8").splitlines())
    found = {name: [int(bound) for bound in bounds] for named, name, *bounds in lines if named == kind}
    return {name: range(bounds[0], bounds[1] + 1) if bounds else None for name, bounds in found.items()}


def require_known(
    torrc: Iterable[str],
    consensus: Mapping[str, int],
    key: Callable[[str, str], str],
    more: Container[str] = (),
) -> None:
    """InputError for an option or a parameter that Debian's tor lacks, or a value that it would not take.

    ``key`` is the key of a name of either kind; ``more`` are options that patches add.
    """
    options = {name.lower() for name in known_names("option")}  # tor takes them in any case of letters.
    known = {"torrc": known_names("option"), "consensus": known_names("parameter")}
    called = {"torrc": "an option of a torrc", "consensus": "a consensus parameter"}
    for kind, other, names in (("torrc", "consensus", torrc), ("consensus", "torrc", consensus)):
        for name in names:
            if name in known[kind] or (kind == "torrc" and (name in more or name.lower() in options)):
                continue
            problem = f"is not {called[kind]} that Debian's tor knows{suggestion(name, [*known[kind]])}"
            accepted = "tor's names; or a tor of your own that knows it"
            if name in known[other] or name in more:
                problem, accepted = f"is {called[other]}, not {called[kind]}", key(other, name)
            raise InputError(problem, key=key(kind, name), value=name, accepted=accepted)
    for name, value in consensus.items():
        taken = known["consensus"][name]
        some = _SOME.get(name, (value,))
        if value not in some:
            nearest, accepted = some[-1], " or ".join(map(str, some))
        elif taken is not None and value not in taken:
            nearest, accepted = min(max(value, taken[0]), taken[-1]), f"{taken[0]} to {taken[-1]}"
        else:
            continue
        problem = f"tor would take {nearest} in its place"
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
            calls += [(name, least, most) for name, _, least, most in _parameters(code)]
            parameters |= {name for name, *_ in calls}
            constants |= dict(_CONSTANT.findall(code))
    ranges = {name: (_number(least, constants), _number(most, constants)) for name, least, most in calls}
    whole = {name: f" {least} {most}" for name, (least, most) in ranges.items() if least and most}
    yield from sorted(f"option {name}" for name in options)
    yield from sorted(f"parameter {name}{whole.get(name, '')}" for name in parameters)


def _parameters(code: str) -> Iterator[tuple[str, str, str, str]]:
    """Name, default, least and greatest value of each parameter that ``code``, without comments, asks for.

    A variable may contain a name, and then has several values.
    """
    for call in _CALL.finditer(code):
        arguments, depth = [""], 0
        for character in code[call.end() :]:
            depth += (character == "(") - (character == ")")
            if depth < 0:
                break
            if character == "," and not depth:
                arguments.append("")
            else:
                arguments[-1] += character
        if len(arguments) == 5:
            _, name, default, least, most = (argument.strip() for argument in arguments)
            names = [name.strip('"')] if name.startswith('"') else []
            if re.fullmatch(r"\w+", name):
                names = re.findall(_NAMED.format(variable=name), code)
            yield from ((each, default, least, most) for each in names)


def defaults_of(tree: Path) -> dict[tuple[str, str], str]:
    """The defaults of ``consensus`` parameters and ``torrc`` options in a source, or their expressions."""
    constants, found = dict(_LIMITS), dict[tuple[str, str], str]()
    for file in sorted((tree / "src").rglob("*.[ch]")):
        if file.relative_to(tree).parts[1] == "test":
            continue
        code = _COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace"))
        constants |= dict(_CONSTANT.findall(code))
        found |= {("consensus", name): default for name, default, *_ in _parameters(code)}
        if file.name == "config.c":
            found |= {("torrc", name): default for name, default in _OPTION_DEFAULT.findall(code)}
    return {
        (kind, name): _number(text, constants) or text if kind == "consensus" else text
        for (kind, name), text in found.items()
    }


def _number(text: str, constants: Mapping[str, str]) -> str:
    """The value of a C expression of integers and ``constants``; empty for any other expression."""
    for _ in range(6):
        text = re.sub(r"\(\w+_t\)", "", text)
        text = re.sub(r"\b[A-Za-z_]\w*", lambda name: f"({constants.get(name[0], name[0])})", text)
    try:
        # Python reads such an expression as C does, but for the integers themselves.
        return str(_value(ast.parse(re.sub(r"\b[0-9]\w*", _integer, text).strip(), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return ""


def _integer(token: re.Match[str]) -> str:
    """A C integer in Python: decimal, octal (``010`` is 8) or hexadecimal; ValueError for anything else."""
    digits = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*", token[0])
    if digits is None:
        raise ValueError(token[0])
    return str(int(digits[1], 8 if re.fullmatch(r"0[0-9]+", digits[1]) else 0))


def _value(expression: ast.expr) -> int:
    """The value of a sum, a product or a quotient; ValueError for any other expression."""
    match expression:
        case ast.Constant(int(value)):
            return value
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand)
        case ast.BinOp(left, ast.Add(), right):
            return _value(left) + _value(right)
        case ast.BinOp(left, ast.Sub(), right):
            return _value(left) - _value(right)
        case ast.BinOp(left, ast.Mult(), right):
            return _value(left) * _value(right)
        case ast.BinOp(left, ast.Div(), right):
            one, other = _value(left), _value(right)
            quotient = abs(one) // abs(other)  # C rounds towards 0.
            return quotient if (one < 0) == (other < 0) else -quotient
    raise ValueError("no arithmetic of integers")


if __name__ == "__main__":
    NAMES_FILE.write_text("".join(f"{line}\n" for line in names_in(Path(sys.argv[1]))), encoding="utf-8")
