"""Which engine plays a comparison here, and on which network.

In: the engine and the network that the user names, if any, and this machine. Out: a :class:`Venue`, with one
sentence on why. The model cannot be built another way, so it is never taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torsweep.config.network import NetworkConfig, load_network_config
from torsweep.doctor.diagnose import shortfalls
from torsweep.engines.registry import ENGINES, find_engine
from torsweep.engines.selection import AUTO_ENGINE, choose_engine, lacking, require_engine
from torsweep.errors import InputError, ToolMissing
from torsweep.machine import Machine, read_machine

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
    able = (each for each in ENGINES.values() if each.runs_tor)
    return tuple(each.name for each in sorted(able, key=lambda each: bool(each.caution)))


def choose_venue(name: str, network: str | None) -> Venue:
    """The engine that runs a comparison: ``name``, or for ``auto`` the first that can.

    Raises InputError for the model and for what is no engine, ToolMissing, which says what to install, where
    no engine can run here.
    """
    network = network or USUAL_NETWORK
    config = load_network_config(network)
    if name != AUTO_ENGINE:
        return Venue(_named_engine(name), network, "asked for")
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
    """The name that runs of the engine ``name`` have, where it is one of ``engines`` and can run here.

    Raises InputError with its entry in ``problems``, or else ``problem``.
    """
    owner = next((each.name for each in ENGINES.values() if name in (each.name, *each.kinds)), "")
    if owner not in engines:
        accepted = ", ".join([AUTO_ENGINE, *engines])
        raise InputError(problems.get(owner, problem), key="--engine", value=name, accepted=accepted)
    kind = installed_kind(name) if name in engines else name
    require_engine(kind)
    return kind


def _named_engine(name: str) -> str:
    problems = {each.name: "does not run real tor" for each in ENGINES.values() if not each.runs_tor}
    return require_among(name, engines_of_tor(), problems, "is no engine")


def installed_kind(engine: str) -> str:
    """The name that the engine's runs have here."""
    return choose_engine(engine, [engine]).engine


def _too_large(engine: str, name: str, network: NetworkConfig, machine: Machine) -> str:
    """What this machine has too little of, in words; nothing where the network fits."""
    for short in shortfalls(find_engine(engine).demand(network), machine):
        return f"{name} needs {short.amount(short.needs)}, and there are {short.amount(short.has)}"
    return ""


def _because(engine: str, network: str, against: Mapping[str, str]) -> str:
    in_simulation = bool(find_engine(engine).caution)
    why = "tor runs there in simulated time" if in_simulation else "it has a real kernel"
    others = (f"not {other}: {reason}" for other, reason in against.items())
    return "; ".join([f"{why}, and {network} fits this machine", *others])
