"""What a change can show on the networks of a comparison, before anything is built: whether it can act there,
and whether both sides can take the same paths.

In: the change, the networks, the era, what the user says of paths. Out: sentences on the parts that cannot
act, and the pairing. InputError where no part can act, for lines of torrc that Arti would get, and for a
pairing that cannot be had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torsweep.config.conflux import CONFLUX, LEAST_RELAYS
from torsweep.config.eras import ERAS, tor_settings, usual_levels
from torsweep.config.knob import AUTO
from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import OptionBundle, Where
from torsweep.config.reading import validate
from torsweep.config.traffic import ONION
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.host_files import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.study.named_tor import changed_defaults
from torsweep.study.tor_change import UNCHANGED, TorChange
from torsweep.study.venue import Tornets
from torsweep.tor.torrc import CONGESTION_CONTROL, consensus_parameters, stated_options


@dataclass(frozen=True)
class _World:
    """What the networks have, and what the change tells tors: ``stated``, names in lower case by their kind.

    ``consensus`` names whose consensus has ``parameters``. With ``own_torrc`` the networks are tornettools',
    whose torrc files are not looked at.
    """

    consensus: str
    parameters: Mapping[str, str]
    onion_services: bool
    stated: Mapping[str, Mapping[str, str]]
    own_torrc: bool

    @property
    def congestion_control(self) -> str | None:
        """What ``cc_alg`` is; None: as the tor of the networks has it without being told."""
        return self.stated["consensus"].get(CONGESTION_CONTROL, self.parameters.get(CONGESTION_CONTROL))

    @property
    def learns_timeouts(self) -> bool:
        return self.own_torrc or self.stated["torrc"].get(_LEARNS.lower(), "0") != "0"

    def states(self, kind: str, name: str) -> str:
        """A clause on what states the option or parameter, whatever its default; empty if nothing does."""
        if kind == "consensus":
            return f"{self.consensus} states {self.parameters[name]}" if name in self.parameters else ""
        return "each torrc states it" if not self.own_torrc and name in stated_options() else ""


_LEARNS = "LearnCircuitBuildTimeout"


def _world(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> _World:
    bundle = _bundle_of(change)
    stated = {
        kind: {name.lower(): str(value) for name, value in bundle.get(kind, {}).items()} for kind in _KINDS
    }
    if tornets is not None:
        onion = any(ONION in network.clients.values() for network in tornets.networks)
        return _World("the consensus of these networks", tornets.parameters, onion, stated, True)
    parameters = {name: str(value) for name, value in consensus_parameters(tor_settings(era, {})).items()}
    return _World(f"the consensus of era {era}", parameters, bool(config.onion_clients), stated, False)


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

    Raises InputError where no part can, and for hosts that cannot take it.
    """
    _require_no_arti(change)
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
    return [*map(str, refusals), *_hidden_defaults(change, world)]


_KINDS = ("torrc", "consensus")


def _why_idle(kind: str, name: str, value: str, world: _World) -> tuple[str, str] | None:
    """Why it cannot act, and with what it could."""
    if kind == "consensus" and world.parameters.get(name) == value:
        return f"{world.consensus} states it already", "another value"
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


def _require_no_arti(change: TorChange) -> None:
    """InputError for lines of torrc that clients get which run Arti."""
    lines = (each for each in change.options.values() if each.get("torrc"))
    on = [validate(Where, each.get("on", {"role": "client"}), "--on") for each in lines]
    if change.has_arti and any(where.names or where.role == "client" for where in on):
        accepted = "--consensus, or --on role=relay"
        raise InputError("clients that run Arti take no lines of torrc", key="--torrc", accepted=accepted)


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
