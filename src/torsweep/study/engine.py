"""Which engine plays a comparison here, and on which network.

In: the engine and the network that the user names, if any, and this machine. Out: a :class:`Venue`, with one
sentence on why. The model cannot be built another way, so it is never taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torsweep.config.network import NetworkConfig, load_network_config
from torsweep.doctor.diagnose import shortfalls
from torsweep.engines.selection import AUTO, RUN_ENGINES, choose_engine, find_engine, lacking, require_engine
from torsweep.errors import InputError, ToolMissing
from torsweep.machine import Machine, read_machine

ENGINES = ("emulation", "shadow")
"""Engines that run real tor; emulation first, as it has a real kernel."""

NETWORKS = ("quarter", "ci")
"""Networks that are taken where none is named: the first that fits this machine."""

REASONS = {"emulation": "it has a real kernel", "shadow": "tor runs there in simulated time"}


@dataclass(frozen=True)
class Venue:
    """The engine, by the name that its runs have, the network, and why these two."""

    engine: str
    network: str
    why: str


def choose_venue(wanted: str, network: str | None, engines: Sequence[str] = ENGINES) -> Venue:
    """Where a comparison is played.

    ``engines`` are those that can play it. Raises InputError for the model and for what is no engine,
    ToolMissing, which says what to install, where no engine can run here.
    """
    names = [network] if network is not None else list(NETWORKS)
    configs = {name: load_network_config(name) for name in names}
    if wanted != AUTO:
        return _asked_for(wanted, configs, engines)
    machine = read_machine()
    against: dict[str, str] = {}
    for name, config in configs.items():
        for engine in engines:
            why_not = lacking(engine) or _too_large(engine, name, config, machine)
            if not why_not:
                return Venue(_kind(engine), name, _because(engine, name, against))
            against.setdefault(engine, why_not)
    told = "; ".join(f"{engine}: {why}" for engine, why in against.items())
    raise ToolMissing(f"no engine that runs real tor can play this here: {told}; the model takes no builds")


def _asked_for(wanted: str, configs: dict[str, NetworkConfig], engines: Sequence[str]) -> Venue:
    if wanted not in RUN_ENGINES or find_engine(wanted).name not in engines:
        problem = "does not run real tor" if wanted in RUN_ENGINES else "is no engine"
        if wanted in ENGINES:
            problem = "does not take paths from outside: tor chooses them there"
        accepted = ", ".join([AUTO, *engines])
        raise InputError(problem, key="--engine", value=wanted, accepted=accepted)
    kind = _kind(wanted) if wanted in engines else wanted
    require_engine(kind)
    machine = read_machine()
    fitting = [name for name, config in configs.items() if not _too_large(kind, name, config, machine)]
    network = next(iter(fitting or configs))
    return Venue(kind, network, "asked for")


def _kind(engine: str) -> str:
    """The name that the engine's runs have here."""
    return choose_engine(engine, [engine]).engine


def _too_large(engine: str, name: str, network: NetworkConfig, machine: Machine) -> str:
    """What this machine has too little of, in words; nothing where the network fits."""
    demand = find_engine(engine).demand(network)
    for short in shortfalls(demand, machine):
        return f"{name} needs {short.amount(short.needs)}, and there are {short.amount(short.has)}"
    return ""


def _because(engine: str, network: str, against: dict[str, str]) -> str:
    why = f"{REASONS[engine]}, and {network} fits this machine"
    return "; ".join(
        [why, *(f"not {other}: {reason}" for other, reason in against.items() if other != engine)]
    )
