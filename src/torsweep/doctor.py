"""What this machine has for each engine, what it lacks, and which networks fit.

In: names of engines; the tools on PATH or named by environment variables, this machine, and what each
engine's ``entry.py`` says that a network takes. Out: tables on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.config.network import NETWORKS_DIRECTORY, NetworkConfig, load_network_config
from torsweep.engines.contract import Demand, Engine
from torsweep.engines.registry import ENGINES, find_engine
from torsweep.engines.selection import problems, required_tools
from torsweep.engines.tools import BUILD_TOR, TOOL_KINDS, Tool, find_tool, tool_problem
from torsweep.errors import ToolMissing, TorsweepError
from torsweep.formats.files import GIB
from torsweep.home import find_all
from torsweep.machine import Machine, read_machine

SYSTEM_CONFIGURATION = "https://shadow.github.io/docs/guide/system_configuration.html"

LEAST_MAP_COUNT = 65_530
"""The kernel's own default, with which the full network ran."""

REQUIRED = {name: required_tools(engine) for name, engine in ENGINES.items()}
"""The tools without which an engine cannot run."""


def shortfalls(demand: Demand, machine: Machine) -> list[tuple[str, str, str]]:
    """What ``demand`` needs more of than ``machine`` has, what there is, and how to get more, in words."""
    limits = (
        ("of memory", machine.available_bytes, demand.memory_bytes, "end other programs, or use less"),
        (
            "of /dev/shm",
            machine.shared_memory_free_bytes,
            demand.shared_memory_bytes,
            "mount it larger, in a container with --shm-size",
        ),
        ("threads", machine.thread_limit, demand.threads, f"raise the limit: {SYSTEM_CONFIGURATION}"),
        ("open files", machine.open_files, demand.open_files, f"raise the limit: {SYSTEM_CONFIGURATION}"),
        ("cores", machine.cores, demand.cores, "real time needs them: a smaller network, or cellsim"),
    )
    return [
        (_amount(needs, thing), _amount(has, thing), remedy)
        for thing, has, needs, remedy in limits
        if has is not None and needs > has
    ]


def _amount(value: int, thing: str) -> str:
    """``value`` with what it counts, such as "5 cores" or "6.3 GiB of memory"."""
    return f"{_gib(value)} {thing}" if thing.startswith("of ") else f"{value:,} {thing}"


@dataclass(frozen=True)
class Outlook:
    """Whether an engine can run here.

    ``problems`` keep it from running; ``networks`` says of each network configuration what keeps it from
    running, empty where nothing does. ``trial`` is what a trial shows of this machine and no version tells.
    """

    engine: Engine
    problems: tuple[str, ...]
    networks: Mapping[str, str]
    trial: str


def outlook(name: str, machine: Machine, networks: Mapping[str, NetworkConfig]) -> Outlook:
    """Which of ``networks`` the engine called ``name`` could run on ``machine``."""
    engine = find_engine(name)
    lacking = {}
    for each, network in networks.items():
        short = shortfalls(engine.demand(network), machine)
        lacking[each] = "; ".join(f"{needs} needed, {has} here; {remedy}" for needs, has, remedy in short)
    return Outlook(engine, tuple(map(str, problems(engine))), lacking, _trial(engine))


def _trial(engine: Engine) -> str:
    """The result of the engine's trial; empty if it fails, which the problems then explain."""
    try:
        return engine.trial()
    except TorsweepError:
        return ""


def known_networks(directory: Path = NETWORKS_DIRECTORY) -> dict[str, NetworkConfig]:
    """The readable configurations of ``directory`` by name, the smallest first."""
    configs = {}
    for file in find_all(directory, "*.yaml"):
        try:
            configs[file.stem] = load_network_config(file)
        except TorsweepError:
            # A command that uses this file reports what is wrong with it.
            continue
    return dict(sorted(configs.items(), key=lambda item: item[1].host_count))


@dataclass(frozen=True)
class ToolState:
    """A tool as it was found, or not; ``problem`` is empty when it will do."""

    name: str
    tool: Tool | None
    problem: str


def diagnose(engines: Sequence[str], console: Console) -> bool:
    """Print tables of tools, machine and ``engines``, then each problem; whether one of these can run."""
    machine, networks = read_machine(), known_networks()
    needed = {name for engine in engines for name in REQUIRED[engine]}
    tools = [_state(name) for name in TOOL_KINDS if name in needed]
    outlooks = [outlook(engine, machine, networks) for engine in engines]
    tables = [_tool_table(tools)] if tools else []
    for table in (*tables, _machine_table(machine), _engine_table(outlooks)):
        console.print(table, Text())
    for each in outlooks:
        tried = f"tried here: {each.trial}" if each.trial else ""
        for text in filter(None, (each.engine.caution, each.engine.note, tried)):
            console.print(Text(f"{each.engine.name}: {text}"), soft_wrap=True)
    console.print("engine=auto takes the first of an experiment's engines that can run", soft_wrap=True)
    lines = [*_tool_problems(tools), *(problem for each in outlooks for problem in each.problems)]
    for each in outlooks:
        lacking = [f"network {name}: {text}" for name, text in each.networks.items() if text]
        # The smallest network that does not fit is enough: larger ones lack as much and more.
        lines += [f"{each.engine.name}, {text}" for text in lacking[:1]]
    for line in dict.fromkeys([*lines, *_cautions(machine)]):
        console.print(Text(f"- {line}"), soft_wrap=True)
    return not all(each.problems for each in outlooks)


def _state(name: str) -> ToolState:
    try:
        tool = find_tool(name)
    except ToolMissing as error:
        return ToolState(name, None, str(error))
    return ToolState(name, tool, tool_problem(name, tool))


def _tool_problems(tools: Sequence[ToolState]) -> list[str]:
    """The problem with each tool; programs that one build makes are reported together."""
    built = [state.name for state in tools if TOOL_KINDS[state.name].built and state.tool is None]
    problems = [state.problem for state in tools if state.problem and state.name not in built]
    if built:
        problems.append(f"{', '.join(built)}: not built; {BUILD_TOR}")
    return problems


def _tool_table(tools: Sequence[ToolState]) -> Table:
    def row(state: ToolState) -> tuple[str | Text, ...]:
        kind, tool = TOOL_KINDS[state.name], state.tool
        version = "missing" if tool is None else tool.version or "unknown"
        least = f"≥ {kind.least_text}" if kind.least else "any"
        path = _shown(tool.path) if tool is not None else "–"
        needed_by = ", ".join(engine for engine, names in REQUIRED.items() if state.name in names)
        return state.name, _coloured(version, not state.problem), least, needed_by, path

    return _table(("tool", "version", "needed", "for", "path"), map(row, tools))


def _machine_table(machine: Machine) -> Table:
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
    return _table(("machine", "here"), rows.items())


def _engine_table(outlooks: Sequence[Outlook]) -> Table:
    def row(outlook: Outlook) -> tuple[str | Text, ...]:
        if outlook.problems:
            return outlook.engine.name, _coloured("no", False), "–"
        fitting = ", ".join(name for name, lacking in outlook.networks.items() if not lacking)
        return outlook.engine.name, _coloured("yes", True), fitting

    return _table(("engine", "can run", "configurations that fit"), map(row, outlooks))


def _table(headers: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _coloured(text: str, good: bool) -> Text:
    return Text(text, style="green" if good else "red")


def _cautions(machine: Machine) -> list[str]:
    """Settings of the machine that do not prevent an engine from starting, but can end a run of real tor."""
    cautions = []
    if machine.overcommit == 2:
        refused = "processes ask for more memory than they use, and the kernel refuses it"
        cautions.append(f"vm.overcommit_memory is 2: {refused}")
    if machine.map_count_max is not None and machine.map_count_max < LEAST_MAP_COUNT:
        cautions.append(
            f"vm.max_map_count is {machine.map_count_max:,}, below the kernel's own default of "
            f"{LEAST_MAP_COUNT:,}: {SYSTEM_CONFIGURATION}"
        )
    if machine.autogroup:
        cautions.append(
            "kernel.sched_autogroup_enabled is 1: nice has no effect between sessions, so that other work "
            "disturbs an emulation although it is niced; as root a run gives its session the nice value -10, "
            "else `sysctl kernel.sched_autogroup_enabled=0`"
        )
    return cautions


def _shown(path: Path) -> str:
    """``path`` from here where it lies below, as a user would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _gib(amount: int | None) -> str:
    return "unknown" if amount is None else f"{amount / GIB:.1f} GiB"


def _count(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit:,}"
