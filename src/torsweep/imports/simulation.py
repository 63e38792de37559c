"""A folder in which tornettools and Shadow have left a simulation: what is in it, and which network it is of.

In: the folder. Out: :class:`Simulation`. Two simulations are of the same network when the hosts of their
``shadow.config.yaml`` have the same names, places in the graph, addresses and rates: Shadow's seed, the
programs and their options may differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.errors import InputError
from torsweep.formats.text import text_lines, whole_text
from torsweep.formats.yaml_file import parse_other_yaml
from torsweep.network.tornet import TORNET_FILE

HOSTS = "shadow.data/hosts"
TGEN_PARSED, ONIONTRACE_PARSED = "tgen.analysis.json", "oniontrace.analysis.json"
_ACCEPTED = f"a folder that tornettools simulated, with {HOSTS}, or parsed, with {TGEN_PARSED}"

_HOST_KEYS = ("network_node_id", "ip_addr", "bandwidth_down", "bandwidth_up")
_GENERATE_SEED = re.compile(r"Seeded standard and numpy PRNGs with seed=(\d+)")
_SHADOW_SEED = re.compile(r"shadow_args='[^']*--seed[= ](\d+)")


@dataclass(frozen=True)
class Simulation:
    """A simulation in ``folder``: its logs in ``hosts``, or else what the parsers of TGen and OnionTrace have
    left of them.

    ``network`` is a digest that two simulations share when their networks are the same; None where no
    configuration says. The seeds are tornettools' of the network, and Shadow's; None: not told.
    """

    folder: Path
    hosts: Path | None
    tgen: Path | None
    oniontrace: Path | None
    network: str | None
    network_seed: int | None
    shadow_seed: int | None

    @property
    def source(self) -> str:
        """``logs`` or ``parsed``."""
        return "logs" if self.hosts else "parsed"


def open_simulation(folder: Path) -> Simulation:
    """The simulation in ``folder``.

    Raises InputError when there is none, its configuration cannot be read, or the folder's own logs name two
    seeds, so that nobody can say which of them its results are of.
    """
    if not folder.is_dir():
        raise InputError("is no folder", file=folder, accepted=_ACCEPTED)
    hosts = folder / HOSTS
    tgen = _packed_or_not(folder / TGEN_PARSED)
    has_logs = any(hosts.glob("*client*/*tgen*.stdout*"))
    if not has_logs and tgen is None:
        raise InputError("holds no results of a simulation", file=folder, accepted=_ACCEPTED)
    config = _packed_or_not(folder / TORNET_FILE)
    document = _read_config(config) if config else {}
    seed = _seed(folder, "simulate", _SHADOW_SEED)
    return Simulation(
        folder,
        hosts if has_logs else None,
        tgen,
        _packed_or_not(folder / ONIONTRACE_PARSED),
        _digest(document["hosts"]) if config else None,
        _seed(folder, "generate", _GENERATE_SEED),
        (document.get("general") or {}).get("seed") if seed is None else seed,
    )


def _packed_or_not(file: Path) -> Path | None:
    return next((each for each in (file, file.with_name(f"{file.name}.xz")) if each.is_file()), None)


def _read_config(file: Path) -> dict[str, Any]:
    document = parse_other_yaml(whole_text(file), file)
    hosts = document.get("hosts") if isinstance(document, dict) else None
    if not isinstance(hosts, dict) or not all(isinstance(host, dict) for host in hosts.values()):
        raise InputError(
            "has no hosts", file=file, key="hosts", accepted="a configuration of Shadow 2 or later"
        )
    general = document.get("general") or {}
    seed = general.get("seed") if isinstance(general, dict) else general
    if not isinstance(seed, int | None):
        raise InputError("is no seed", file=file, key="general.seed", value=seed, accepted="a whole number")
    return document


def _digest(hosts: dict[str, dict[str, Any]]) -> str:
    known = {name: [str(host.get(key)) for key in _HOST_KEYS] for name, host in hosts.items()}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _seed(folder: Path, command: str, pattern: re.Pattern[str]) -> int | None:
    """The seed that the folder's logs of ``tornettools COMMAND`` name; InputError where they name two."""
    found = {
        seed
        for file in sorted(folder.glob(f"tornettools.{command}.*.log*"))
        for seed in _seeds(file, pattern)
    }
    if len(found) > 1:
        listed = " and ".join(map(str, sorted(found)))
        problem = f"mixes seeds: its logs of `tornettools {command}` name {listed}"
        raise InputError(problem, file=folder, accepted="the log of the one that the results are of")
    return found.pop() if found else None


def _seeds(file: Path, pattern: re.Pattern[str]) -> Iterator[int]:
    yield from (int(match[1]) for match in map(pattern.search, text_lines(file)) if match)
