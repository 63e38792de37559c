"""A program tor: its version, options and modules, the lines of torrc that it takes, and its tor-gencert.

In: the path of a program. Out: what it answers, or a refusal in its own words. Answers about options are kept
for as long as the program is the same file.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from torsweep.config.option_bundle import Role
from torsweep.config.reading import suggestion
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.program_output import PATIENCE_S, NoAnswer, ask

GENCERT = "tor-gencert"

Answer = TypeVar("Answer")


def _kept(ask_program: Callable[..., Answer]) -> Callable[..., Answer]:
    """``ask_program``, whose answers are kept while the program has the same size and time of change."""

    @functools.cache
    def kept(program: Path, _size: int, _changed_ns: int, *questions: Hashable) -> Answer:
        return ask_program(program, *questions)

    def answer(program: Path, *questions: Hashable) -> Answer:
        state = program.stat()
        return kept(program.resolve(), state.st_size, state.st_mtime_ns, *questions)

    return answer


@dataclass(frozen=True)
class TorVersion:
    """tor's version, and the versions of the libraries that it runs with, by name."""

    version: str
    libraries: dict[str, str]


def ask_version(program: Path) -> TorVersion:
    """The answer of ``program`` to ``--version``; InputError if it is not a tor, or does not run here."""
    version, answer = version_of_program(program, "Tor version ", "does not run here as tor")
    named = re.findall(r"\b(Libevent|OpenSSL|Zlib|Glibc|GCC) (?:version )?(\d[\w.+-]*)", answer)
    return TorVersion(version.rstrip("."), {name: number.rstrip(".") for name, number in named})


def version_of_program(program: Path, before: str, problem: str) -> tuple[str, str]:
    """The version after ``before`` in the answer of ``program`` to ``--version``, and the whole answer.

    Raises InputError, with ``problem`` where it answers something else.
    """
    try:
        answer = ask([program.resolve(), "--version"], PATIENCE_S)
    except NoAnswer as why:
        raise InputError(str(why), file=program, accepted="a program built for this machine") from None
    version = re.search(rf"^{before}(\d[\w.+-]*)", answer.stdout, re.MULTILINE | re.IGNORECASE)
    if answer.returncode or version is None:
        words = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[0]
        raise InputError(f"{problem}; its answer to --version is: {words}", file=program)
    return version[1], answer.stdout


def gencert_beside(program: Path, others: Sequence[Path]) -> Path:
    """The tor-gencert for ``program``: beside it, in its build tree, of ``others``, or on PATH.

    One of another version will do: it only makes certificates of keys. Raises ToolMissing without any.
    """
    folder = program.resolve().parent
    places = [folder / GENCERT, folder.parent / "tools" / GENCERT, *others]
    program_beside = next((place for place in places if os.access(place, os.X_OK) and place.is_file()), None)
    on_path = shutil.which(GENCERT)
    if program_beside is None and on_path is None:
        raise ToolMissing(
            f"{GENCERT}: not beside {program}, nor on PATH; `make src/tools/{GENCERT}` in tor's build tree"
            " makes it, and so does `torsweep tor build`"
        )
    return program_beside or Path(on_path or "")


_FINGERPRINT = "0" * 39
_COMMON_TORRC = f"""TestingTorNetwork 1
DirAuthority asked orport=5000 v3ident={_FINGERPRINT}1 127.0.0.1:7000 {_FINGERPRINT}2
Log notice stdout
"""
_SERVER = "Nickname asked\nAddress 127.0.0.1\nORPort 5001\nSocksPort 0\nExitPolicy reject *:*\nExitRelay 0\n"
_ROLES: dict[Role, str] = {
    "relay": _SERVER,
    "authority": f"{_SERVER}DirPort 5002\nAuthoritativeDirectory 1\nV3AuthoritativeDirectory 1\n"
    "ContactInfo asked@localhost\n",
    "client": "ClientOnly 1\nSocksPort 5003\n",
}
"""The least that each process of a private network needs in its torrc."""


def options_of(program: Path) -> frozenset[str]:
    """The names of the options that ``program`` knows; TorsweepError when it does not say."""
    return frozenset(_lines(program, "--list-torrc-options"))


def modules_of(program: Path) -> frozenset[str]:
    """The modules that ``program`` was built with, such as ``relay``; TorsweepError when it does not say."""
    modules = (line.partition(":") for line in _lines(program, "--list-modules"))
    return frozenset(name.strip() for name, _, answer in modules if answer.strip() == "yes")


def refuse_options(program: Path, lines: Sequence[str], role: Role) -> None:
    """Return when a process of ``role`` takes the ``lines`` of torrc (``Option value``).

    Raises InputError with the line, tor's own words and, for an unknown option, the nearest name. An option
    that tor skips as obsolete is refused too: it would change nothing.
    """
    if not lines or not _refusal(program, tuple(lines), role):
        return
    base = _refusal(program, (), role)
    if base:
        raise TorsweepError(f"{program}: takes no configuration of a private network: {base}")
    # Each line alone first, so that the one that is wrong is named.
    refusals = ((line, _refusal(program, (line,), role)) for line in lines)
    together = ("; ".join(lines), _refusal(program, tuple(lines), role))
    line, words = next((refusal for refusal in refusals if refusal[1]), together)
    nearest = ""
    if "nknown option" in words:
        nearest = suggestion(line.split(maxsplit=1)[0], sorted(options_of(program)))
    raise InputError(f"tor refuses it: {words}{nearest}", key=line)


def config_of(program: Path, arguments: Sequence[str], folder: Path) -> dict[str, str]:
    """The options that ``program``, started in ``folder`` with ``arguments``, has other than by default.

    Values are as tor writes them, of several lines joined. Raises TorsweepError when it does not say.
    """
    answer = _answer(program.resolve(), *arguments, "--dump-config", "short", folder=folder)
    if answer.returncode:
        words = (answer.stdout + answer.stderr).strip().splitlines()[-1:] or ["nothing"]
        raise TorsweepError(f"{program}: does not say its options in {folder}: {words[0]}")
    return parse_config(answer.stdout)


def parse_config(text: str) -> dict[str, str]:
    """Option → value of the lines of a torrc that tor has written."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name:
            options[name] = f"{options[name]}; {value}" if name in options else value
    return options


def as_tor_writes(program: Path, lines: Sequence[str], role: Role, default: str) -> dict[str, str]:
    """Option → value of ``lines`` of torrc, as ``program`` writes them: ``1 sec`` is ``1000`` of an option in
    milliseconds. One that is as tor has it by default has the value ``default``."""
    named = {line.partition(" ")[0].lower(): line.partition(" ")[0] for line in lines}
    written = {name.lower(): (name, value) for name, value in _config(program, tuple(lines), role).items()}
    known = {name.lower(): name for name in options_of(program)}
    return {
        known.get(name, as_told): written[name][1] if name in written else default
        for name, as_told in named.items()
    }


@_kept
def _config(program: Path, lines: tuple[str, ...], role: Role) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        return config_of(program, _asked_torrc(Path(folder), lines, role), Path(folder))


def _asked_torrc(folder: Path, lines: Sequence[str], role: Role) -> list[str]:
    """Write a torrc with ``lines`` into ``folder``; the arguments with which a tor reads it."""
    text = f"{_COMMON_TORRC}DataDirectory {folder}/data\n{_ROLES[role]}"
    (folder / "torrc").write_text(text + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["-f", f"{folder}/torrc", "--defaults-torrc", f"{folder}/none", "--ignore-missing-torrc"]


@_kept
def _refusal(program: Path, lines: tuple[str, ...], role: Role) -> str:
    """Why ``program`` refuses the lines; empty where it takes them."""
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        answer = _answer(program, "--verify-config", *_asked_torrc(Path(folder), lines, role))
    obsolete = re.search(r'Skipping (obsolete configuration option "[^"]*")', answer.stdout)
    if obsolete is not None:
        return obsolete[1]
    if answer.returncode == 0:
        return ""
    warnings = re.findall(r"\[(?:warn|err)\] (.*)", answer.stdout)
    reasons = [line for line in warnings if line.startswith("Failed to parse/validate config: ")] or warnings[
        :1
    ]
    words = reasons[0] if reasons else (answer.stderr.strip() or f"exit code {answer.returncode}")
    words = words.removeprefix("Failed to parse/validate config: ")
    return words.removesuffix("Failing.").strip().rstrip(".")


@_kept
def _lines(program: Path, question: str) -> list[str]:
    answer = _answer(program, question)
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    if answer.returncode or not lines:
        raise TorsweepError(f"{program}: has no answer to {question}; tor 0.4.7 or later has")
    return lines


def _answer(program: Path, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return ask([program, *arguments], PATIENCE_S, folder=folder)
    except NoAnswer as why:
        raise TorsweepError(f"{program}: does not answer {arguments[0]}: {why}") from None
