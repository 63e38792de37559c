"""What a change can show on the networks of a comparison, before anything is built: whether it can act there,
and whether both sides can take the same paths.

In: the change, the networks, the era, what the user says of paths. Out: sentences on the parts that cannot
act, and the pairing. InputError where no part can act, for hosts that the networks have not, and for a
pairing that cannot be had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from torsweep.config.conflux import CONFLUX, LEAST_RELAYS
from torsweep.config.eras import ERAS, tor_settings, usual_levels
from torsweep.config.knob import AUTO
from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import OptionBundle, Role, Where
from torsweep.config.reading import validate
from torsweep.config.traffic import ONION
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.host_files import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.study.named_tor import ARTI, changed_defaults
from torsweep.study.tor_change import UNCHANGED, TorChange
from torsweep.study.venue import Tornets
from torsweep.tor.torrc import CONGESTION_CONTROL, OUTRANKED, consensus_parameters, stated_options


@dataclass(frozen=True)
class _World:
    """What the networks have, and what the change tells tors: ``stated``, names in lower case by their kind.

    ``consensus`` names whose consensus has ``parameters``. ``tornets`` have torrc files of their own.
    """

    consensus: str
    parameters: Mapping[str, str]
    onion_services: bool
    stated: Mapping[str, Mapping[str, str]]
    tornets: Tornets | None = None

    @property
    def congestion_control(self) -> str | None:
        """What ``cc_alg`` is; None: as the tor of the networks has it without being told."""
        return self.stated["consensus"].get(CONGESTION_CONTROL, self.parameters.get(CONGESTION_CONTROL))

    @property
    def learns_timeouts(self) -> bool:
        usual = "0" if self.tornets is None else self.tornets.torrc("client", _LEARNS)
        return self.stated["torrc"].get(_LEARNS.lower(), usual) != "0"

    def states(self, kind: str, name: str) -> str:
        """A clause on what states the option or parameter, whatever its default; empty if nothing does."""
        if kind == "consensus":
            return f"{self.consensus} states {self.parameters[name]}" if name in self.parameters else ""
        if self.tornets is None:
            return "each torrc states it" if name in stated_options() else ""
        roles = [role for role in get_args(Role) if self.tornets.torrc(role, name) is not None]
        return f"the torrc of each {' and '.join(roles)} states it" if roles else ""

    def outranked(self, parameter: str) -> str:
        """The line of torrc in the networks that goes before the parameter; empty: none."""
        option = OUTRANKED.get(parameter)
        if option is None or self.tornets is None or option.lower() in self.stated["torrc"]:
            return ""
        found = (self.tornets.torrc(role, option) for role in get_args(Role))
        return next((f"{option} {value}" for value in found if value is not None), "")


_LEARNS = "LearnCircuitBuildTimeout"


def _world(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> _World:
    bundle = _bundle_of(change)
    stated = {
        kind: {name.lower(): str(value) for name, value in bundle.get(kind, {}).items()} for kind in _KINDS
    }
    if tornets is not None:
        onion = any(ONION in network.clients.values() for network in tornets.networks)
        return _World("the consensus of these networks", tornets.parameters, onion, stated, tornets)
    parameters = {name: str(value) for name, value in consensus_parameters(tor_settings(era, {})).items()}
    return _World(f"the consensus of era {era}", parameters, bool(config.onion_clients), stated)


def _bundle_of(change: TorChange) -> Mapping[str, Any]:
    return next((each for name, each in change.options.items() if name != UNCHANGED), {})


_IDLE: tuple[tuple[str, Callable[[_World], bool], str, str], ...] = (
    (
        "cbt",
        lambda world: not world.learns_timeouts,
        "the torrc of clients has LearnCircuitBuildTimeout 0",
        "--torrc 'LearnCircuitBuildTimeout 1' beside it",
    ),
    (
        "hiddenservice|hs_|hslayer|maxhsdircache|rendpost|vanguards",
        lambda world: not world.onion_services,
        "these networks have no onion services",
        "a network of your own with onion_servers",
    ),
    (
        "cc_(?!alg$)",
        lambda world: world.congestion_control == "0",
        "there is no congestion control with cc_alg=0",
        "--consensus cc_alg=2 beside it",
    ),
    (
        "circwindow$",
        lambda world: world.congestion_control not in (None, "0"),
        "congestion control has windows of its own",
        "--consensus cc_alg=0 beside it",
    ),
)
"""How names of options and parameters begin, where these cannot act, why, and what lets them."""


def require_effect(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> list[str]:
    """Notes on parts of ``change`` that cannot act in these networks.

    Raises InputError where no part can, and for hosts that are not there or cannot take it.
    """
    _require_hosts(change, _roles(config, tornets))
    bundle, world = _bundle_of(change), _world(change, config, tornets, era)
    changes = [(kind, name, str(value)) for kind in _KINDS for name, value in bundle.get(kind, {}).items()]
    idle = [(each, found) for each in changes if (found := _why_idle(*each, world)) is not None]
    refusals = [
        InputError(
            f"cannot act here: {why}",
            key=f"--{kind}",
            value=f"{name}{'=' if kind == 'consensus' else ' '}{value}",
            accepted=accepted,
        )
        for (kind, name, value), (why, accepted) in idle
    ]
    if refusals and len(refusals) == len(changes):
        raise refusals[0]
    notes = [str(refusal) for refusal in refusals]
    return [*notes, *_hidden_defaults(change, world)]


_KINDS = ("torrc", "consensus")


def _why_idle(kind: str, name: str, value: str, world: _World) -> tuple[str, str] | None:
    """Why it cannot act, and with what it could."""
    if kind == "consensus" and world.parameters.get(name) == value:
        return f"{world.consensus} states it already", "another value"
    if kind == "consensus" and (line := world.outranked(name)):
        return f"the torrc of these networks has {line}, which goes before it", "--torrc with this option"
    if kind == "torrc" and world.tornets is not None and world.tornets.torrc(None, name) == value:
        return "the torrc of each host states it already", "another value"
    rules = (rule for rule in _IDLE if re.match(rule[0], name.lower()))
    return next(((why, accepted) for _, idle, why, accepted in rules if idle(world)), None)


def _hidden_defaults(change: TorChange, world: _World) -> Iterator[str]:
    """A sentence for each default that differs between the two sources and that the networks state."""
    if not change.sources:
        return
    defaults = changed_defaults(*change.sources)
    if defaults is None:
        yield "not checked until both tors are built: whether a default changes that the networks set"
        return
    for (kind, name), (before, after) in defaults.items():
        stated, value = world.states(kind, name), after.strip('"')
        if not stated:
            continue
        ask = f"--consensus {name}={value}" if kind == "consensus" else f"--torrc '{name} {value}'"
        yield f"the default of {name}, {before} and now {after}, does not act, as {stated}; ask with {ask}"


def _require_hosts(change: TorChange, role_of: Callable[[str], Role | None]) -> None:
    """InputError for named hosts that no network has, and for Arti on what is no client."""
    of_lines = [validate(Where, each["on"], "--on") for each in change.options.values() if "on" in each]
    of_tors = {name: validate(Where, tor["on"], "--on") for name, tor in change.tors.items() if "on" in tor}
    named = [name for where in (*of_lines, *of_tors.values()) for name in where.names]
    if lost := [name for name in named if role_of(name) is None]:
        accepted = "hosts of the networks, such as relay1"
        raise InputError("no network has this host", key="--on", value=lost[0], accepted=accepted)
    for level, where in of_tors.items():
        others = [name for name in where.names if role_of(name) != "client"]
        if others and any(ARTI in change.tors.get(part, {}) for part in change.tors[level]["mix"]):
            accepted = "clients, such as web1"
            raise InputError("Arti runs on clients alone", key="--on", value=others[0], accepted=accepted)
    if change.has_arti and any(each.get("torrc") for each in change.options.values()):
        roles = {
            role
            for where in of_lines
            for role in (map(role_of, where.names) if where.names else [where.role])
        }
        if not of_lines or "client" in roles:
            accepted = "--consensus, or --on role=relay"
            raise InputError("clients that run Arti take no lines of torrc", key="--torrc", accepted=accepted)


def _roles(config: NetworkConfig, tornets: Tornets | None) -> Callable[[str], Role | None]:
    """What says the role of a host by its name; None if no network has it."""
    if tornets is not None:
        roles: dict[str, Role] = {}
        for network in tornets.networks:
            roles.update((name, "authority") for name in network.authorities)
            roles.update((name, "relay") for name in network.relays)
            roles.update((name, "client") for name in network.clients)
        return lambda name: roles.get(name)
    counts: dict[str, tuple[Role, int]] = {
        "authority": ("authority", config.authorities),
        "relay": ("relay", config.relay_count),
        **{group: ("client", count) for group, count in config.client_counts.items()},
    }

    def role_of(name: str) -> Role | None:
        match = re.fullmatch(r"([a-z]+)([1-9][0-9]{0,8})", name)
        role, many = counts.get(match[1], (None, 0)) if match else (None, 0)
        return role if match and int(match[2]) <= many else None

    return role_of


COST = "each run draws its own paths, so it takes more networks to show the same change"


def choose_pairing(
    text: str | None, change: TorChange, relays: int, era: str | None
) -> tuple[str, list[str]]:
    """The pairing that ``text`` asks for, or the usual one, and what there is to say of it and of the change.

    Raises InputError where common paths are asked for and cannot be had, or would hide the change.
    """
    notes = list(change.notes)
    why = _why_free(change)
    if text == PATHS and why:
        raise InputError(f"cannot be had: {why}", key="--pairing", value=text, accepted=FREE)
    if text is not None:
        return text, notes
    levels = usual_levels(era if era in ERAS else "today")
    if not why and levels[CONFLUX.name] == AUTO and relays >= LEAST_RELAYS:
        why = f"Conflux, which is on from {LEAST_RELAYS} relays on, takes circuits of its own"
    return (FREE, [*notes, f"no common paths: {why}; {COST}"]) if why else (PATHS, notes)


def _why_free(change: TorChange) -> str:
    """Why the two sides cannot take the same paths; empty where they can."""
    for entry in change.options.values():
        if name := validate(OptionBundle, entry, None).about_paths:
            return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""
