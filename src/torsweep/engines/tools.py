"""The programs that engines need: where they are, and whether those of others are new enough.

In: PATH, and for each tool an environment variable that goes before it: ``TORSWEEP_SHADOW`` names the program
shadow or the folder that it is in. Out: :class:`Tool`, or a ToolMissing that says what the tool is for and
how to install it. tor and tor-gencert come from the build with the patch series: only it knows every knob.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import ToolMissing, TorsweepError
from torsweep.program_output import PATIENCE_S, NoAnswer, ask
from torsweep.tor import TOOLS
from torsweep.tor.builds import find_build


def find_own_program(name: str) -> Path | None:
    """The program in Rust ``name``: on PATH, or beside the Python that is running."""
    program = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    return Path(program) if program else None


def require_own_program(name: str) -> Path:
    """The program ``name``; ToolMissing when it is not there."""
    program = find_own_program(name)
    if program is None:
        beside = Path(sys.executable).name
        raise ToolMissing(f"{name}: not on PATH, nor beside {beside}; `make setup` builds it")
    return program


@dataclass(frozen=True)
class ToolKind:
    """What is known of a tool before it is looked for.

    ``purpose`` goes on after "it"; ``guide`` is where its makers say how to install it. ``least`` is the
    oldest version that will do. ``asking`` are the arguments that make it print its version, and ``answer``
    matches what it says of it, the number as its first group; the match names no host.
    """

    name: str
    purpose: str
    guide: str
    least: tuple[int, ...] = ()
    asking: tuple[str, ...] = ("--version",)
    answer: str = ""
    built: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that says where the tool is."""
        return "TORSWEEP_" + self.name.upper().replace("-", "_")

    @property
    def least_text(self) -> str:
        """``3.3``; empty where any version will do."""
        return ".".join(map(str, self.least))


BUILD_TOR = "`torsweep tor build` builds it with the patch series"

TOOL_KINDS = {
    kind.name: kind
    for kind in (
        ToolKind(
            "shadow",
            "runs real tor and TGen in simulated time",
            "https://shadow.github.io/docs/guide/",
            (3, 3),
            answer=r"Shadow (\d[\d.]*).*",
        ),
        # TGen and OnionTrace have no option for it: they name their version and stop for want of arguments.
        ToolKind(
            "tgen",
            "plays web and bulk clients and servers",
            "https://github.com/shadow/tgen",
            (1, 1, 2),
            asking=(),
            answer=r"TGen v(\d[\d.]*)(?: running .*(?= on host))?",
        ),
        ToolKind(
            "oniontrace",
            "records the circuits and bandwidth of each tor",
            "https://github.com/shadow/oniontrace",
            (1, 0, 0),
            asking=(),
            answer=r"OnionTrace v(\d[\d.]*)",
        ),
        ToolKind(
            "tor",
            "is every relay, authority and client",
            BUILD_TOR,
            (0, 4, 9),
            answer=r"Tor version (\d[\d.]*)",
            built=True,
        ),
        ToolKind(
            "tor-gencert",
            "makes the authorities' certificates by the clock of the simulation",
            BUILD_TOR,
            asking=("--help",),
            built=True,
        ),
    )
}


@dataclass(frozen=True)
class Tool:
    """A tool that was found; ``version_line`` is how it said its version, or why it did not."""

    name: str
    path: Path
    version: str | None
    version_line: str


def find_tool(name: str) -> Tool | None:
    """The tool ``name``, whatever its version; None when it is nowhere. ToolMissing when its environment
    variable is set and it is not there: no other one replaces it."""
    kind = TOOL_KINDS[name]
    if kind.built:
        return _built(name)
    if named := os.environ.get(kind.variable):
        return _ask(kind, _at(kind, Path(named)))
    path = shutil.which(name)
    return _ask(kind, Path(path)) if path else None


def require_tool(name: str) -> Tool:
    """The tool ``name``; ToolMissing when it is nowhere, does not start or is too old."""
    tool = find_tool(name)
    problem = tool_problem(name, tool)
    if problem or tool is None:
        raise ToolMissing(problem)
    return tool


def tool_problem(name: str, tool: Tool | None) -> str:
    """The problem with ``tool``, found for ``name``, in one line; empty if there is none."""
    kind = TOOL_KINDS[name]
    guide = kind.guide if kind.built else f"how to install it: {kind.guide}"
    if tool is None:
        where = "not built" if kind.built else f"not on PATH, and {kind.variable} is not set"
        return f"{name}: {where}; it {kind.purpose}; {guide}"
    if tool.version is not None and _numbers(tool.version) < kind.least:
        return f"{tool.path}: too old: {tool.version} < {kind.least_text}; {guide}"
    if tool.version is None and kind.least:
        words = f" ({tool.version_line})" if tool.version_line else ""
        return f"{tool.path}: does not say its version{words}; {kind.least_text} or later is needed; {guide}"
    return ""


def _at(kind: ToolKind, named: Path) -> Path:
    path = named / kind.name if named.is_dir() else named
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise ToolMissing(
            f"{kind.variable}={named}: {'holds no' if named.is_dir() else 'is no'} program {kind.name}"
        )
    return path.absolute()


def _built(name: str) -> Tool | None:
    try:
        built = find_build()
    except TorsweepError:
        return None
    path = built.program if name == "tor" else built.gencert
    line = f"tor {built.version}, {TOOLS / built.folder.name}"
    return Tool(name, path.absolute(), built.provenance["version"], line)


def _ask(kind: ToolKind, path: Path) -> Tool:
    return Tool(kind.name, path, *told_version(kind, path))


@functools.cache
def told_version(kind: ToolKind, path: Path) -> tuple[str | None, str]:
    """The version that the program says, and the line in which it says so or fails."""
    try:
        done = ask([path, *kind.asking], PATIENCE_S, {"OPENBLAS_NUM_THREADS": "1"})
    except NoAnswer as why:
        return None, str(why)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    if kind.answer:
        for line in lines:
            match = re.search(kind.answer, line)
            if match:
                return match[1].rstrip("."), match[0].strip()
    if done.returncode < 0:
        return None, f"killed by signal {-done.returncode}"
    return None, (lines[-1].strip() if kind.answer and lines else "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
