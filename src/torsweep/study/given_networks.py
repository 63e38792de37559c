"""Networks that ``tornettools generate`` made, as the networks of a comparison.

In: the folders that ``--network`` names. Out: :class:`GivenNetworks`: a configuration that the study gets,
how long its runs last, and what the intervals are over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.config.network import NETWORKS_DIRECTORY, NetworkConfig
from torsweep.config.reading import validate
from torsweep.config.replicates import AUTO
from torsweep.config.traffic import MARKOV
from torsweep.engines.selection import AUTO as ANY_ENGINE
from torsweep.engines.selection import RUN_ENGINES, choose_engine, find_engine, require_engine
from torsweep.errors import InputError
from torsweep.network.tornet import Tornet, is_tornet, read_tornet
from torsweep.study.engine import Venue
from torsweep.units import NANOSECONDS_PER, format_quantity, is_duration, parse_quantity, rounded_duration

ENGINE = "shadow"
SECOND_NS = 10**9

CONVERGED_S = 1_200
"""Where `tornettools parse` begins to count, from the simulation's start; half of one that is too short for
it."""

SEEDS = 8
"""Of Shadow, on one network."""


@dataclass(frozen=True)
class GivenNetworks:
    """Networks of a comparison, in the order in which replicates take them; ``name`` is their file's."""

    name: str
    tornets: tuple[Tornet, ...]

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
        """What differs where the networks do."""
        return tuple(tornet.sha256() for tornet in self.tornets)

    def document(self, study: Path) -> dict[str, Any]:
        """The configuration for the study in the folder ``study``; counts are those of the first network."""
        first = self.tornets[0]
        kinds = list(first.clients.values())
        return {
            "tornettools": [
                os.path.relpath(tornet.folder.resolve(), study.resolve()) for tornet in self.tornets
            ],
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

    def durations(self, warm_up: str | None, measured: str | None) -> dict[str, str]:
        """What is asked for, and else what the networks have: tornettools counts from the 20th minute on."""
        stop_ns = min(tornet.stop_ns for tornet in self.tornets) // SECOND_NS * SECOND_NS
        warm_up = warm_up or f"{min(CONVERGED_S, stop_ns // SECOND_NS // 2)} s"
        if measured is not None or not is_duration(warm_up):
            return {"warm_up": warm_up, "measured": measured or "1 s"}
        left_ns = stop_ns - parse_quantity(warm_up, NANOSECONDS_PER, "")
        if left_ns < SECOND_NS:
            problem = "leaves nothing of the simulation of this network to measure"
            accepted = f"less than {format_quantity(stop_ns, NANOSECONDS_PER)}, or --measured too"
            raise InputError(problem, key="--warm-up", value=warm_up, accepted=accepted)
        return {"warm_up": warm_up, "measured": format_quantity(left_ns, NANOSECONDS_PER)}

    def replicates(self, asked: str | None) -> str:
        """How many replicates: as many as networks, or of one network as many seeds as are asked for."""
        many = len(self.tornets)
        if many == 1 and asked == AUTO:
            problem, accepted = "is for networks that are sampled", "a number of seeds"
            raise InputError(problem, key="--networks", value=asked, accepted=accepted)
        if many == 1:
            return asked or str(SEEDS)
        if asked not in (None, str(many)):
            problem, accepted = "is not the number of networks given", str(many)
            raise InputError(problem, key="--networks", value=asked, accepted=accepted)
        return str(many)

    @property
    def unit(self) -> str:
        """What a replicate is."""
        return "network" if len(self.tornets) > 1 else "seed"

    def over(self, replicates: int) -> str:
        """What the intervals are over, and what they say nothing about."""
        if len(self.tornets) > 1:
            return f"{replicates} networks of tornettools"
        seeds = f"{replicates} seed{'s' if replicates > 1 else ''}"
        return f"{seeds} of one network, {self.name}: this says nothing about other networks"


def given_networks(names: Sequence[str]) -> GivenNetworks | None:
    """The networks in the folders ``names``; None where it is one name of a configuration.

    Raises InputError for a folder that tornettools did not make, or that is not whole, or that stands twice.
    """
    folders = [Path(name) for name in names if Path(name).is_dir() and (is_tornet(Path(name)) or "/" in name)]
    if not folders and len(names) < 2:
        return None
    tornets = tuple(read_tornet(Path(name)) for name in names)
    seen: dict[Path, str] = {}
    for name in names:
        if seen.setdefault(Path(name).resolve(), name) != name:
            raise InputError("names this network twice", key="--network", value=name)
    first = re.sub(r"[^A-Za-z0-9_.-]", "_", folders[0].resolve().name).lstrip(".")[:40] or "network"
    more = f"-and-{len(tornets) - 1}-more" if len(tornets) > 1 else ""
    return GivenNetworks(f"{first}{more}", tornets)


def given_venue(wanted: str, given: GivenNetworks) -> Venue:
    """Where a comparison on ``given`` is played: under Shadow.

    Raises InputError for another engine, ToolMissing where Shadow is not here.
    """
    if wanted != ANY_ENGINE and (wanted not in RUN_ENGINES or not find_engine(wanted).takes_tornettools):
        problem = "does not play networks of tornettools, whose clients use TGen only"
        raise InputError(problem, key="--engine", value=wanted, accepted=ENGINE)
    kind = choose_engine(ENGINE if wanted == ANY_ENGINE else wanted, [ENGINE]).engine
    require_engine(kind)
    tornet = given.tornets[0]
    own = rounded_duration(tornet.stop_ns / 1e9)
    return Venue(kind, given.name, f"tornettools made it, for a simulation of {own}")


def setup_options(options: Mapping[str, str | None], given: GivenNetworks | None) -> dict[str, str]:
    """The options of a :class:`~torsweep.study.document.Setup`, those that are left out filled in.

    Raises InputError for what cannot be changed in a given network.
    """
    if given is None:
        usual = {"networks": "8", "era": "today", "warm_up": "1 min", "measured": "2 min", "pairing": "free"}
        return {name: options[name] or text for name, text in usual.items()}
    for name, usual_text, why in (
        ("era", "today", "its torrc files say what tor does"),
        ("pairing", "free", "tor chooses its paths there"),
    ):
        if options[name] not in (None, usual_text):
            problem = f"cannot be chosen for a network of tornettools: {why}"
            raise InputError(problem, key=f"--{name}", value=options[name], accepted="no such option")
    durations = given.durations(options["warm_up"], options["measured"])
    return {"networks": given.replicates(options["networks"]), "era": "today", **durations, "pairing": "free"}
