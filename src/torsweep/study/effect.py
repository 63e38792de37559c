"""What a change can show on the networks of a comparison, before anything is built: whether it can act there,
and whether both sides can take the same paths.

In: the change, the networks, the era, what the user says of paths. Out: sentences on the parts that cannot
act, and the pairing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
from torsweep.network.sampling import tor_hosts
from torsweep.study.named_tor import ARTI, changed_defaults
from torsweep.study.tor_change import TorChange
from torsweep.study.venue import ROLES, Tornets, hosts_of
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
        roles = [role for role in ROLES if self.tornets.torrc(role, name) is not None]
        return f"the torrc of each {' and '.join(roles)} states it" if roles else ""

    def outranked(self, parameter: str) -> str:
        """The line of torrc in the networks that goes before the parameter; empty: none."""
        option = OUTRANKED.get(parameter)
        if option is None or self.tornets is None or option.lower() in self.stated["torrc"]:
            return ""
        found = (self.tornets.torrc(role, option) for role in ROLES)
        return next((f"{option} {value}" for value in found if value is not None), "")


_KINDS = ("torrc", "consensus")
_LEARNS = "LearnCircuitBuildTimeout"
_OF_ONION_SERVICES = re.compile("hiddenservice|hs_|hslayer|maxhsdircache|rendpost|vanguards")
"""How names of their options and parameters begin, in small letters."""


def _world(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> _World:
    stated = {
        kind: {name.lower(): str(value) for name, value in change.bundle.get(kind, {}).items()}
        for kind in _KINDS
    }
    if tornets is not None:
        onion = any(ONION in network.clients.values() for network in tornets.networks)
        return _World("the consensus of these networks", tornets.parameters, onion, stated, tornets)
    parameters = {name: str(value) for name, value in consensus_parameters(tor_settings(era, {})).items()}
    return _World(f"the consensus of era {era}", parameters, bool(config.onion_clients), stated)


def require_effect(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> list[str]:
    """Notes on parts of ``change`` that cannot act in these networks; InputError where no part can, and for
    hosts that are not there or cannot take it."""
    _require_hosts(change, _roles(config, tornets))
    world = _world(change, config, tornets, era)
    changes = [
        (kind, name, str(value)) for kind in _KINDS for name, value in change.bundle.get(kind, {}).items()
    ]
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
    return [*map(str, refusals), *_hidden_defaults(change, world)]


def _why_idle(kind: str, name: str, value: str, world: _World) -> tuple[str, str] | None:
    """Why it cannot act, and with what it could."""
    if kind == "consensus" and world.parameters.get(name) == value:
        return f"{world.consensus} states it already", "another value"
    if kind == "consensus" and (line := world.outranked(name)):
        return f"the torrc of these networks has {line}, which goes before it", "--torrc with this option"
    if kind == "torrc" and world.tornets is not None and world.tornets.torrc(None, name) == value:
        return "the torrc of each host states it already", "another value"
    small, algorithm = name.lower(), world.congestion_control
    if small.startswith("cbt") and not world.learns_timeouts:
        return f"the torrc of clients has {_LEARNS} 0", f"--torrc '{_LEARNS} 1' beside it"
    if _OF_ONION_SERVICES.match(small) and not world.onion_services:
        return "these networks have no onion services", "a network of your own with onion_servers"
    if small.startswith("cc_") and small != CONGESTION_CONTROL and algorithm == "0":
        return "there is no congestion control with cc_alg=0", "--consensus cc_alg=2 beside it"
    if small == "circwindow" and algorithm not in (None, "0"):
        return "congestion control has windows of its own", "--consensus cc_alg=0 beside it"
    return None


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


def _require_hosts(change: TorChange, roles: Mapping[str, Role]) -> None:
    """InputError for named hosts that no network has, and for Arti on what is no client."""
    of_lines = validate(Where, change.bundle["on"], "--on") if "on" in change.bundle else None
    of_tors = {name: validate(Where, tor["on"], "--on") for name, tor in change.tors.items() if "on" in tor}
    named = [name for where in (of_lines, *of_tors.values()) if where for name in where.names]
    if lost := [name for name in named if name not in roles]:
        accepted = "hosts of the networks, such as relay1"
        raise InputError("no network has this host", key="--on", value=lost[0], accepted=accepted)
    for level, where in of_tors.items():
        others = [name for name in where.names if roles[name] != "client"]
        if others and any(ARTI in change.tors.get(part, {}) for part in change.tors[level]["mix"]):
            accepted = "clients, such as web1"
            raise InputError("Arti runs on clients alone", key="--on", value=others[0], accepted=accepted)
    if change.has_arti and change.bundle.get("torrc"):
        named_roles = [roles[name] for name in of_lines.names] if of_lines else []
        if of_lines is None or "client" in (named_roles or [of_lines.role]):
            accepted = "--consensus, or --on role=relay"
            raise InputError("clients that run Arti take no lines of torrc", key="--torrc", accepted=accepted)


def _roles(config: NetworkConfig, tornets: Tornets | None) -> dict[str, Role]:
    """The role of each host of the networks that runs tor."""
    if tornets is None:
        return {name: _role_of(name) for name in tor_hosts(config)}
    return {name: role for network in tornets.networks for role in ROLES for name in hosts_of(network, role)}


def _role_of(name: str) -> Role:
    kind = name.rstrip("0123456789")
    return "relay" if kind == "relay" else "authority" if kind == "authority" else "client"


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
    if name := validate(OptionBundle, change.bundle, None).about_paths:
        return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""
