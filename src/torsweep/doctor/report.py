"""What the doctor found, for people and for programs.

In: tools, machine, outlooks. Out: tables on a terminal, or one JSON object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.doctor.demand import SYSTEM_CONFIGURATION
from torsweep.doctor.engines import REFERENCE_NETWORK, REQUIRED, Outlook
from torsweep.doctor.machine import Machine
from torsweep.engines.selection import Choice
from torsweep.engines.tools import BUILD_TOR, TOOL_KINDS, Tool

GIB = 2**30
LEAST_MAP_COUNT = 65_530
"""The kernel's own default, with which the full network ran."""


@dataclass(frozen=True)
class ToolState:
    """A tool as it was found, or not; ``problem`` is empty when it will do.

    ``finding`` is what a trial showed and the version does not tell; empty for most tools.
    """

    name: str
    tool: Tool | None
    problem: str
    finding: str = ""

    @property
    def needed_by(self) -> list[str]:
        """The engines that cannot run without it."""
        return [engine for engine, names in REQUIRED.items() if self.name in names]


@dataclass(frozen=True)
class Diagnosis:
    """All that the doctor found; ``auto`` is the engine that ``engine=auto`` takes, and why; ``hosts_by`` who
    makes the hosts of an emulation: root, user namespaces or neither."""

    tools: tuple[ToolState, ...]
    machine: Machine
    outlooks: tuple[Outlook, ...]
    auto: Choice
    hosts_by: str

    def document(self) -> dict[str, object]:
        """The JSON object: sizes in bytes, null for what is not known or not limited."""
        return {
            "format": "torsweep-doctor",
            "format_version": 1,
            "tools": [_tool_document(state) for state in self.tools],
            "machine": asdict(self.machine),
            "engines": [_engine_document(outlook) for outlook in self.outlooks],
            "auto": f"{self.auto.engine}: {self.auto.reason}",
            "emulation_hosts_by": self.hosts_by,
        }

    def show(self, console: Console) -> None:
        """Print three tables, then each problem on a line of its own."""
        tables = [_tool_table(self.tools)] if self.tools else []
        for table in (*tables, _machine_table(self.machine), _engine_table(self.outlooks)):
            console.print(table, Text())
        if any(outlook.engine == "emulation" for outlook in self.outlooks):
            console.print(
                "emulation runs in real time, and needs the machine for itself; its hosts are made by"
                f" {self.hosts_by}."
            )
        for state in self.tools:
            if state.tool is not None and state.finding:
                console.print(Text(f"{state.name} {state.tool.version}: {state.finding}"), soft_wrap=True)
        console.print(Text(f"engine=auto takes {self.auto.engine}: {self._why_auto()}"), soft_wrap=True)
        problems = _tool_problems(self.tools)
        problems += [problem for outlook in self.outlooks for problem in outlook.problems]
        problems += [
            f"{outlook.engine}, network {name}: {lacking}"
            for outlook in self.outlooks
            for name, lacking in outlook.networks.items()
            if lacking
        ]
        for problem in dict.fromkeys([*problems, *_cautions(self.machine)]):
            console.print(Text(f"- {problem}"), soft_wrap=True)

    def _why_auto(self) -> str:
        """The reason, without the problems that are printed below it."""
        told = {outlook.engine for outlook in self.outlooks}
        if self.auto.passed_over and told.issuperset(self.auto.passed_over):
            return f"{', '.join(self.auto.passed_over)} cannot run here, as said below"
        return self.auto.reason


def _tool_problems(tools: Sequence[ToolState]) -> list[str]:
    """What is wrong with each; the programs that are built together are missing together."""
    built = [state.name for state in tools if TOOL_KINDS[state.name].built and state.tool is None]
    problems = [state.problem for state in tools if state.problem and state.name not in built]
    if built:
        problems.append(f"{', '.join(built)}: not built; {BUILD_TOR}")
    return problems


def _tool_document(state: ToolState) -> dict[str, object]:
    kind, tool = TOOL_KINDS[state.name], state.tool
    return {
        "name": state.name,
        "found": tool is not None,
        "usable": not state.problem,
        "path": str(tool.path) if tool is not None else None,
        "version": tool.version if tool is not None else None,
        "told": tool.told if tool is not None else None,
        "patched": tool.patched if tool is not None else None,
        "least_version": kind.least_text or None,
        "needed_by": state.needed_by,
        "purpose": kind.purpose,
        "guide": kind.guide,
        "finding": state.finding or None,
        "problem": state.problem or None,
    }


def _engine_document(outlook: Outlook) -> dict[str, object]:
    return {
        "name": outlook.engine,
        "can_run": outlook.can_run,
        "problems": list(outlook.problems),
        "networks": {name: lacking or None for name, lacking in outlook.networks.items()},
        "largest_network": {
            "of": REFERENCE_NETWORK,
            "times": outlook.scale,
            "bound": outlook.bound or None,
        },
    }


def _tool_table(tools: Sequence[ToolState]) -> Table:
    table = _table("tool", "version", "needed", "for", "path")
    for state in tools:
        kind, tool = TOOL_KINDS[state.name], state.tool
        version = Text("missing" if tool is None else tool.version or "not told")
        version.stylize("green" if not state.problem else "red")
        table.add_row(
            state.name,
            version,
            f"≥ {kind.least_text}" if kind.least else "any",
            ", ".join(state.needed_by),
            _shown(tool.path) if tool is not None else "–",
        )
    return table


def _machine_table(machine: Machine) -> Table:
    table = _table("machine", "here")
    executable = {True: "", False: ", noexec", None: ""}[machine.shared_memory_executable]
    rows = {
        "cores": str(machine.cores),
        "memory": f"{_gib(machine.memory_bytes)}, {_gib(machine.available_bytes)} available",
        "/dev/shm": f"{_gib(machine.shared_memory_bytes)}, {_gib(machine.shared_memory_free_bytes)} free"
        + executable,
        "open files a process": _count(machine.open_files),
        "threads of all processes": _count(machine.thread_limit),
        "maps a process": _count(machine.map_count_max),
        "overcommit": {0: "heuristic", 1: "always", 2: "never"}.get(machine.overcommit or 0, "unknown"),
        "kernel": f"{machine.kernel}, {machine.architecture}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _engine_table(outlooks: Sequence[Outlook]) -> Table:
    table = _table("engine", "can run", "configurations that fit", "largest network")
    for outlook in outlooks:
        fitting = [name for name, lacking in outlook.networks.items() if not lacking]
        table.add_row(
            outlook.engine,
            Text("yes", style="green") if outlook.can_run else Text("no", style="red"),
            ", ".join(fitting) if outlook.can_run else "–",
            _scale(outlook) if outlook.can_run else "–",
        )
    return table


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _scale(outlook: Outlook) -> str:
    if outlook.scale is None:
        return "unknown"
    return f"{outlook.scale:.1f} × {REFERENCE_NETWORK}: {outlook.bound}"


def _cautions(machine: Machine) -> list[str]:
    """Settings of the machine that do not prevent an engine from starting, but can end a run of real tor."""
    cautions = []
    if machine.overcommit == 2:
        cautions.append(
            "vm.overcommit_memory is 2: processes ask for more memory than they use, and are refused it"
        )
    if machine.map_count_max is not None and machine.map_count_max < LEAST_MAP_COUNT:
        cautions.append(
            f"vm.max_map_count is {machine.map_count_max:,}, below the kernel's own default of "
            f"{LEAST_MAP_COUNT:,}: {SYSTEM_CONFIGURATION}"
        )
    return cautions


def _shown(path: Path) -> str:
    """``path`` from here where it lies below, as a user would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _gib(amount: int | None) -> str:
    return "unknown" if amount is None else f"{amount / GIB:.1f} GiB"


def _count(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit:,}"
