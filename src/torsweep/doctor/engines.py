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
from torsweep.engines.readiness import problems, required_tools
from torsweep.engines.selection import ENGINES, find_engine
from torsweep.errors import TorsweepError

REQUIRED = {name: required_tools(engine) for name, engine in ENGINES.items()}
"""The tools without which an engine cannot run."""

REFERENCE_NETWORK = "paper"
"""The size in multiples of which the largest network is given."""


@dataclass(frozen=True)
class Outlook:
    """Whether an engine can run here.

    ``problems`` keep it from running; ``networks`` says of each network configuration what keeps it from
    running, empty where nothing does; ``scale`` is the largest network as a multiple of
    :data:`REFERENCE_NETWORK`, None without that network to compare with, and ``bound`` is the limit that
    allows no more.
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
    found = tuple(str(problem) for problem in problems(find_engine(engine)))
    return Outlook(engine, found, standing, scale, bound)


def known_networks(directory: Path = NETWORKS_DIRECTORY) -> dict[str, NetworkConfig]:
    """The readable configurations of ``directory`` by name, the smallest first; none without it."""
    found = {}
    for file in sorted(directory.glob("*.yaml")):
        try:
            found[file.stem] = load_network_config(file)
        except TorsweepError:
            # A command that uses this file reports what is wrong with it.
            continue
    return dict(sorted(found.items(), key=lambda item: item[1].host_count))
