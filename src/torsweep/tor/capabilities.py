"""What a tor can be told: its options and modules, and whether it takes given lines of torrc.

In: the path of a program tor. Out: names, or a refusal in tor's own words. Answers are kept for as long as
the program is the same file.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from torsweep.config.reading import suggestion
from torsweep.errors import InputError, TorsweepError
from torsweep.tor.program import PATIENCE_S

Role = Literal["authority", "relay", "client"]

_FINGERPRINT = "0" * 39
_COMMON = f"""TestingTorNetwork 1
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
    line, words = next((found for found in refusals if found[1]), together)
    nearest = ""
    if "nknown option" in words:
        nearest = suggestion(line.split(maxsplit=1)[0], sorted(options_of(program)))
    raise InputError(f"tor refuses it: {words}{nearest}", key=line)


def _refusal(program: Path, lines: tuple[str, ...], role: Role) -> str:
    """Why ``program`` refuses the lines, in its own words; empty where it takes them."""
    return _asked_refusal(*_identity(program), lines, role)


@functools.cache
def _asked_refusal(program: Path, size: int, changed_ns: int, lines: tuple[str, ...], role: Role) -> str:
    with tempfile.TemporaryDirectory(prefix="torsweep-") as folder:
        torrc = Path(folder) / "torrc"
        text = f"{_COMMON}DataDirectory {folder}/data\n{_ROLES[role]}"
        torrc.write_text(text + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        defaults = ("--defaults-torrc", f"{folder}/none", "--ignore-missing-torrc")
        answer = _run(program, "--verify-config", "-f", str(torrc), *defaults)
    obsolete = re.search(r'Skipping (obsolete configuration option "[^"]*")', answer.stdout)
    if obsolete is not None:
        return obsolete[1]
    if answer.returncode == 0:
        return ""
    said = re.findall(r"\[(?:warn|err)\] (.*)", answer.stdout)
    reasons = [line for line in said if line.startswith("Failed to parse/validate config: ")] or said[:1]
    words = reasons[0] if reasons else (answer.stderr.strip() or f"exit code {answer.returncode}")
    words = words.removeprefix("Failed to parse/validate config: ")
    return words.removesuffix("Failing.").strip().rstrip(".")


def _lines(program: Path, question: str) -> list[str]:
    return _asked_lines(*_identity(program), question)


@functools.cache
def _asked_lines(program: Path, size: int, changed_ns: int, question: str) -> list[str]:
    answer = _run(program, question)
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    if answer.returncode or not lines:
        raise TorsweepError(f"{program}: has no answer to {question}; tor 0.4.7 or later has")
    return lines


def _identity(program: Path) -> tuple[Path, int, int]:
    """What tells the content of a program apart without reading it: its path, size and time of change."""
    state = program.stat()
    return program.resolve(), state.st_size, state.st_mtime_ns


def _run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TorsweepError(f"{program}: does not answer {arguments[0]}: {error}") from error
