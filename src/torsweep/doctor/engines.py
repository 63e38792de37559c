"""What each engine lacks here, and the largest network that it could run.

In: the tools found, this machine, the network configurations. Out: an :class:`Outlook` an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.network import NETWORKS_DIRECTORY, NetworkConfig, load_network_config
from torsweep.doctor.demand import largest_scale, shortfalls
from torsweep.doctor.machine import Machine
from torsweep.engines.selection import ENGINES, find_engine, lacking
from torsweep.engines.tools import TOOL_KINDS, find_tool, tool_problem
from torsweep.errors import ToolMissing, TorsweepError
from torsweep.tor.requirements import check_requirements

REQUIRED = {
    name: (*engine.tools, *(("tor", "tor-gencert") if engine.runs_tor else ()))
    for name, engine in ENGINES.items()
}
"""The tools without which an engine cannot run."""

REFERENCE_NETWORK = "paper"
"""The size in multiples of which the largest network is given."""

OLDEST_KERNEL = (5, 10)
"""Of Linux, for Shadow: its guide's list of supported platforms."""


@dataclass(frozen=True)
class Outlook:
    """Whether an engine can run here.

    ``problems`` keep it from running; ``networks`` says of each network configuration what keeps it from
    running, empty where nothing does; ``scale`` is the largest network as a multiple of
    :data:`REFERENCE_NETWORK`, None where that is not there to compare with, and ``bound`` what it hangs on.
    """

    engine: str
    problems: tuple[str, ...]
    networks: Mapping[str, str]
    scale: float | None
    bound: str

    @property
    def can_run(self) -> bool:
        """Whether anything can be run at all."""
        return not self.problems


def engine_problems(engine: str, machine: Machine | None = None) -> list[str]:
    """What keeps ``engine`` from running here, a line each; empty when it can run.

    A tor that is not built yet is none where this machine has what building it needs: the pipeline
    builds it.
    """
    problems = [problem for name in REQUIRED[engine] if (problem := _problem(name))]
    lack = lacking(engine)
    if lack and lack not in problems:
        problems.append(lack)
    if engine == "shadow" and machine is not None:
        problems += _platform_problems(machine)
    return problems


def outlook(engine: str, machine: Machine, networks: Mapping[str, NetworkConfig]) -> Outlook:
    """What ``engine`` could run on ``machine``, of ``networks`` and beyond."""
    standing = {}
    for name, network in networks.items():
        lacking = shortfalls(find_engine(engine).demand(network), machine)
        standing[name] = "; ".join(
            f"{short.needs:,} {short.name} needed, {short.has:,} here; {short.remedy}" for short in lacking
        )
    reference = networks.get(REFERENCE_NETWORK)
    scale, bound = largest_scale(engine, reference, machine) if reference is not None else (None, "")
    return Outlook(engine, tuple(engine_problems(engine, machine)), standing, scale, bound)


def known_networks(directory: Path = NETWORKS_DIRECTORY) -> dict[str, NetworkConfig]:
    """The readable configurations of ``directory`` by name, the smallest first; none without it."""
    found = {}
    for file in sorted(directory.glob("*.yaml")):
        try:
            found[file.stem] = load_network_config(file)
        except TorsweepError:
            # It is told about where it is used.
            continue
    return dict(sorted(found.items(), key=lambda item: item[1].host_count))


def _problem(name: str) -> str:
    try:
        tool = find_tool(name)
    except ToolMissing as error:
        return str(error)
    problem = tool_problem(name, tool)
    if problem and TOOL_KINDS[name].built:
        try:
            check_requirements()
        except ToolMissing as error:
            return f"{problem}; {error}"
        return ""
    return problem


def _platform_problems(machine: Machine) -> list[str]:
    guide = TOOL_KINDS["shadow"].guide
    problems = []
    if machine.architecture != "x86_64":
        problems.append(f"shadow: runs on x86_64, this is {machine.architecture}: {guide}")
    if machine.kernel_version and machine.kernel_version < OLDEST_KERNEL:
        problems.append(f"shadow: needs Linux 5.10 or later, this is {machine.kernel}: {guide}")
    return problems
