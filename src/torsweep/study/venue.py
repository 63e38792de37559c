"""Where a comparison is played: the engine and the network, which ``tornettools generate`` may have made.

In: the engine and the networks that the user names, if any, and this machine. Out: a :class:`Venue`;
:class:`Tornets`: the configuration that the study gets of tornettools' networks, how long its runs last, and
what the intervals are over. The model is never taken: it takes no builds of tor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from torsweep.config.network import NETWORKS_DIRECTORY, NetworkConfig, load_network_config
from torsweep.config.option_bundle import Role
from torsweep.config.reading import validate
from torsweep.config.traffic import MARKOV
from torsweep.doctor import shortfalls
from torsweep.engines.registry import ENGINES, find_engine
from torsweep.engines.selection import AUTO_ENGINE, choose_engine, lacking
from torsweep.errors import InputError, ToolMissing
from torsweep.machine import Machine, read_machine
from torsweep.network.tornet import tornet_network
from torsweep.network.tornet_folder import (
    TORNET_FILE,
    Tornet,
    consensus_votes,
    is_tornet,
    read_tornet,
    torrc_lines,
)
from torsweep.units import (
    NANOSECONDS_PER,
    SECOND_NS,
    counted,
    format_quantity,
    is_duration,
    parse_quantity,
    rounded_duration,
)

USUAL_NETWORK = "eight_relays"
"""The network that is taken where none is named."""


@dataclass(frozen=True)
class Venue:
    """The engine, by the name that its runs have, the network, and why these two."""

    engine: str
    network: str
    why: str


def engines_of_tor() -> tuple[str, ...]:
    """The engines that run real tor, those on a real kernel first."""
    able = sorted(ENGINES.values(), key=lambda each: bool(each.caution))
    return tuple(each.name for each in able if each.runs_tor)


def choose_venue(name: str, network: str | None) -> Venue:
    """The engine that runs a comparison: ``name``, or for ``auto`` the first that can.

    Raises InputError for the model and for what is no engine; ToolMissing where none can run here.
    """
    network = network or USUAL_NETWORK
    config = load_network_config(network)
    if name != AUTO_ENGINE:
        problems = {each.name: "does not run real tor" for each in ENGINES.values() if not each.runs_tor}
        return Venue(require_among(name, engines_of_tor(), problems, "is no engine"), network, "asked for")
    machine, against = read_machine(), dict[str, str]()
    for engine in engines_of_tor():
        why_not = lacking(engine, builds=False) or _too_large(engine, network, config, machine)
        if not why_not:
            return Venue(installed_kind(engine), network, _because(engine, network, against))
        against[engine] = why_not
    reasons = "; ".join(f"{engine}: {why}" for engine, why in against.items())
    raise ToolMissing(
        f"no engine that runs real tor can play this here: {reasons}; the model takes no builds"
    )


def require_among(name: str, engines: Sequence[str], problems: Mapping[str, str], problem: str) -> str:
    """The name that runs of the engine ``name`` have; InputError unless it is one of ``engines``, with its
    entry in ``problems`` or else ``problem``."""
    owner = next((each.name for each in ENGINES.values() if name in (each.name, *each.kinds)), "")
    if owner not in engines:
        accepted = ", ".join([AUTO_ENGINE, *engines])
        raise InputError(problems.get(owner, problem), key="--engine", value=name, accepted=accepted)
    return installed_kind(name) if name in engines else name


def installed_kind(engine: str) -> str:
    """The name that the engine's runs have here."""
    return choose_engine(engine, [engine]).engine


def _too_large(engine: str, name: str, network: NetworkConfig, machine: Machine) -> str:
    """The resources that this machine lacks, in words; empty if the network fits."""
    for needs, has, _ in shortfalls(find_engine(engine).demand(network), machine):
        return f"{name} needs {needs}, and there are {has}"
    return ""


def _because(engine: str, network: str, against: Mapping[str, str]) -> str:
    in_simulation = bool(find_engine(engine).caution)
    why = "tor runs there in simulated time" if in_simulation else "it has a real kernel"
    others = (f"not {other}: {reason}" for other, reason in against.items())
    return "; ".join([f"{why}, and {network} fits this machine", *others])


TORNET_ENGINE = next(name for name, engine in ENGINES.items() if engine.takes_tornettools)

CONVERGED_S = 1_200
"""When `tornettools parse` begins to count; a simulation too short for it counts its second half."""

USUAL_SEEDS = 8
"""How many seeds of the simulator one network gets, when the user names none."""


ROLES: tuple[Role, ...] = get_args(Role)


def hosts_of(network: Tornet, role: Role) -> Iterable[str]:
    """The hosts of ``role`` by name."""
    named = {"authority": network.authorities, "relay": network.relays, "client": network.clients}
    return named[role]


@dataclass(frozen=True)
class Tornets:
    """Networks of a comparison, in the order of replicates; ``name`` is that of their configuration."""

    name: str
    networks: tuple[Tornet, ...]

    @property
    def file(self) -> Path:
        """The configuration, below the study's folder."""
        return NETWORKS_DIRECTORY / f"{self.name}.yaml"

    @property
    def checksums(self) -> Path:
        """The file below the study's folder that keeps :attr:`content`, a line for each network."""
        return self.file.with_suffix(".sha256")

    @property
    def content(self) -> tuple[str, ...]:
        """A key that differs between different networks."""
        return tuple(network.sha256() for network in self.networks)

    def document(self, study: Path) -> dict[str, Any]:
        """The configuration for a study in the folder ``study``; counts are those of the first network."""
        first = self.networks[0]
        kinds = list(first.clients.values())
        folders = (network.folder.resolve() for network in self.networks)
        return {
            "tornettools": [os.path.relpath(folder, study.resolve()) for folder in folders],
            "relays": len(first.relays),
            "authorities": len(first.authorities),
            "web_clients": 0,
            "bulk_clients": 0,
            "perf_clients": sum(kind != MARKOV for kind in kinds),
            "markov_clients": kinds.count(MARKOV),
            "servers": len(first.servers),
        }

    @property
    def config(self) -> NetworkConfig:
        """The configuration, judged by its model."""
        return validate(NetworkConfig, self.document(Path()), self.file)

    @property
    def parameters(self) -> dict[str, str]:
        """The consensus parameters that all of the networks have, as their first authorities vote."""
        first, *others = (consensus_votes(network, network.authorities[0]) for network in self.networks)
        return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}

    def torrc(self, role: Role | None, option: str) -> str | None:
        """What the torrc of every host of ``role``, or with None of every role, has of ``option``; None where
        one has nothing or another value."""
        values = {
            next(reversed(torrc_lines(network, host, option)), None)
            for network in self.networks
            for each in (ROLES if role is None else [role])
            for host in hosts_of(network, each)
        }
        return values.pop() if len(values) == 1 else None

    def options(self, options: Mapping[str, str | None]) -> dict[str, str]:
        """Options of the command line, those that are left out filled in; InputError for what cannot be
        changed in such a network."""
        fixed = {"era": "today", "pairing": "free"}
        why = {"era": "its torrc files say what tor does", "pairing": "tor chooses its paths there"}
        for name, usual in fixed.items():
            if options[name] not in (None, usual):
                problem = f"cannot be chosen for a network of tornettools: {why[name]}"
                raise InputError(problem, key=f"--{name}", value=options[name], accepted="no such option")
        durations = self._durations(options["warm_up"], options["measured"])
        self._require_clients(durations)
        return {"networks": self._replicates(options["networks"]), **fixed, **durations}

    def _durations(self, warm_up: str | None, measured: str | None) -> dict[str, str]:
        """The warm-up and measured time asked for, or those of the networks."""
        stop_ns = min(network.stop_ns for network in self.networks) // SECOND_NS * SECOND_NS
        if warm_up is None:
            warm_up = f"{min(CONVERGED_S, stop_ns // SECOND_NS // 2)} s"
        if measured is not None or not is_duration(warm_up):
            return {"warm_up": warm_up, "measured": measured or "1 s"}
        left_ns = stop_ns - parse_quantity(warm_up, NANOSECONDS_PER, "")
        if left_ns < SECOND_NS:
            problem = "leaves nothing of the simulation of this network to measure"
            accepted = f"less than {format_quantity(stop_ns, NANOSECONDS_PER)}, or --measured too"
            raise InputError(problem, key="--warm-up", value=warm_up, accepted=accepted)
        return {"warm_up": warm_up, "measured": format_quantity(left_ns, NANOSECONDS_PER)}

    def _require_clients(self, durations: Mapping[str, str]) -> None:
        """InputError for a simulation that ends before the last program starts."""
        if not all(map(is_duration, durations.values())):
            return
        last_ns = max(network.last_start_ns for network in self.networks)
        if sum(parse_quantity(text, NANOSECONDS_PER, "") for text in durations.values()) <= last_ns:
            problem = "ends, with the warm-up before it, before the last program of this network starts"
            accepted = f"more than {format_quantity(last_ns, NANOSECONDS_PER)} together"
            raise InputError(problem, key="--measured", value=durations["measured"], accepted=accepted)

    def _replicates(self, number: str | None) -> str:
        """How many runs: one for each network, or for one network as many seeds as the user wants."""
        many = len(self.networks)
        if many == 1:
            return str(USUAL_SEEDS) if number is None else number
        if number not in (None, str(many)):
            problem = "is not the number of networks given"
            raise InputError(problem, key="--networks", value=number, accepted=str(many))
        return str(many)

    @property
    def unit(self) -> str:
        """The word for a replicate."""
        return "network" if len(self.networks) > 1 else "seed"

    def over(self, replicates: int) -> str:
        """A sentence on what intervals are over, and on what they do not cover."""
        if len(self.networks) > 1:
            return f"{replicates} networks of tornettools"
        seeds = counted(replicates, "seed")
        return f"{seeds} of one network, {self.name}: this says nothing about other networks"

    def venue(self, engine: str) -> Venue:
        """The engine of the comparison; InputError for an engine that does not take such networks."""
        problem = "does not play networks of tornettools, whose clients use TGen only"
        name = TORNET_ENGINE if engine == AUTO_ENGINE else engine
        kind = require_among(name, [TORNET_ENGINE], {}, problem)
        lasts = rounded_duration(self.networks[0].stop_ns / SECOND_NS)
        return Venue(kind, self.name, f"tornettools made it, for a simulation of {lasts}")


def read_tornets(names: Sequence[str]) -> Tornets | None:
    """The networks in the folders ``names``; None where it is one name of a configuration.

    Raises InputError for a folder that is given twice, or of which tornettools or a run could make nothing.
    """
    for name in names:
        if Path(name).is_file() and Path(name).name == TORNET_FILE:
            accepted = f"the folder that contains it, {Path(name).absolute().parent}"
            raise InputError("is a file", key="--network", value=name, accepted=accepted)
    folders = [Path(name) for name in names if Path(name).is_dir() and (is_tornet(Path(name)) or "/" in name)]
    if not folders and len(names) < 2:
        return None
    networks = tuple(read_tornet(Path(name)) for name in names)
    places = [Path(name).resolve() for name in names]
    for number, name in enumerate(names):
        if places[number] in places[:number]:
            raise InputError("names this network twice", key="--network", value=name)
    first = re.sub(r"[^A-Za-z0-9_.-]", "_", folders[0].resolve().name).lstrip(".")[:40] or "network"
    more = f"-and-{len(networks) - 1}-more" if len(networks) > 1 else ""
    made = Tornets(f"{first}{more}", networks)
    for number, network in enumerate(networks, 1):
        tornet_network(network, made.config, number)
    return made
