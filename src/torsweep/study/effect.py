"""What a change can show on the networks of a comparison, before anything is built: whether it can act there,
and
whether both sides can take the same paths.

In: the change, the networks, the era, what the user says of paths. Out: sentences on the parts that cannot
act and on what the backtest says of such changes (``experiments/backtest/badly_predicted.csv``, which
``bench.backtest`` writes), and the pairing. InputError where no part can act, for hosts that the networks
have not, and for a pairing that cannot be had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from torsweep.config.eras import ERAS, tor_settings, usual_levels
from torsweep.config.features import FEATURES
from torsweep.config.knob import AUTO
from torsweep.config.network import NetworkConfig
from torsweep.config.option_bundle import OptionBundle, Role, Where
from torsweep.config.reading import validate
from torsweep.config.traffic import ONION
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.hosts import PATHS_OPTION
from torsweep.errors import InputError
from torsweep.formats.frames import read_csv
from torsweep.home import find
from torsweep.study.change import UNCHANGED, TorChange
from torsweep.study.named_tor import ARTI, changed_defaults
from torsweep.study.venue import Tornets
from torsweep.tor.torrc import CONGESTION_CONTROL, consensus_parameters, stated_options


@dataclass(frozen=True)
class _World:
    """What the networks have, and the options and parameters of the change: names in lower case."""

    era: str
    parameters: Mapping[str, int]
    """The parameters that the era states; none in networks of tornettools."""
    onion_services: bool
    stated: Mapping[str, str]

    @property
    def sampled(self) -> bool:
        return bool(self.parameters)

    @property
    def has_congestion_control(self) -> bool:
        return self.stated.get(CONGESTION_CONTROL, str(self.parameters.get(CONGESTION_CONTROL))) != "0"

    @property
    def learns_timeouts(self) -> bool:
        return self.stated.get("learncircuitbuildtimeout", "0") != "0" or not self.sampled


@dataclass(frozen=True)
class _Idle:
    """Options and parameters whose names begin so cannot act where ``idle``: why, and what lets them."""

    names: str
    idle: Callable[[_World], bool]
    why: str
    accepted: str


_IDLE = (
    _Idle(
        "cbt",
        lambda world: not world.learns_timeouts,
        "the torrc of clients has LearnCircuitBuildTimeout 0",
        "--torrc 'LearnCircuitBuildTimeout 1' beside it",
    ),
    _Idle(
        "hiddenservice|hs_|hslayer|maxhsdircache|rendpost|vanguards",
        lambda world: not world.onion_services,
        "these networks have no onion services",
        "a network of your own with onion_servers",
    ),
    _Idle(
        "cc_(?!alg$)",
        lambda world: world.sampled and not world.has_congestion_control,
        "there is no congestion control with cc_alg=0",
        "--consensus cc_alg=2 beside it",
    ),
    _Idle(
        "circwindow$",
        lambda world: world.sampled and world.has_congestion_control,
        "congestion control has windows of its own",
        "--consensus cc_alg=0 beside it",
    ),
)


def require_effect(change: TorChange, config: NetworkConfig, tornets: Tornets | None, era: str) -> list[str]:
    """What there is to say of the parts of ``change`` that cannot act in these networks, or whose like was
    predicted badly.

    Raises InputError where no part can, and for hosts that are not there or cannot take it.
    """
    _require_hosts(change, config, tornets)
    parameters = consensus_parameters(tor_settings(era, {})) if tornets is None else {}
    bundle = next((each for name, each in change.options.items() if name != UNCHANGED), {})
    stated = {kind: {name: str(value) for name, value in bundle.get(kind, {}).items()} for kind in _KINDS}
    onion = bool(config.onion_clients)
    if tornets is not None:
        onion = any(ONION in network.clients.values() for network in tornets.networks)
    together = {name.lower(): value for each in stated.values() for name, value in each.items()}
    world = _World(era, parameters, onion, together)
    changes = [(kind, name, value) for kind in _KINDS for name, value in stated[kind].items()]
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
    return [*notes, *_hidden_defaults(change, parameters, era), *backtest_notes(change)]


_KINDS = ("torrc", "consensus")


def _why_idle(kind: str, name: str, value: str, world: _World) -> tuple[str, str] | None:
    """Why it cannot act, and with what it could."""
    if kind == "consensus" and str(world.parameters.get(name)) == value:
        return f"the consensus of era {world.era} states it already", "another value"
    rules = (rule for rule in _IDLE if re.match(rule.names, name.lower()) and rule.idle(world))
    return next(((rule.why, rule.accepted) for rule in rules), None)


def _hidden_defaults(change: TorChange, parameters: Mapping[str, int], era: str) -> Iterator[str]:
    """A sentence for each default that differs between the two sources and that the networks state."""
    if not change.sources or not parameters:
        return
    options, defaults = stated_options(), changed_defaults(*change.sources)
    if defaults is None:
        yield "not checked, without both sources: whether a default that the era states is changed"
        return
    for (kind, name), (before, after) in defaults.items():
        of_consensus = kind == "consensus"
        if name not in (parameters if of_consensus else options):
            continue
        value = after.strip('"')
        stated = (
            f"the consensus of era {era} states {parameters[name]}"
            if of_consensus
            else "each torrc states it"
        )
        ask = f"--consensus {name}={value}" if of_consensus else f"--torrc '{name} {value}'"
        yield f"the default of {name}, {before} and now {after}, does not act, as {stated}; ask with {ask}"


def _require_hosts(change: TorChange, config: NetworkConfig, tornets: Tornets | None) -> None:
    """InputError for named hosts that no network has, and for Arti on what is no client."""
    of_lines = [each["on"] for each in change.options.values() if "on" in each]
    of_tors = {name: tor["on"] for name, tor in change.tors.items() if "on" in tor}
    for entry in (*of_lines, *of_tors.values()):
        for name in validate(Where, entry, "--on").names:
            if _role_of(name, config, tornets) is None:
                accepted = "hosts of the networks, such as relay1"
                raise InputError("no network has this host", key="--on", value=name, accepted=accepted)
    for name, entry in of_tors.items():
        if any(ARTI in change.tors.get(part, {}) for part in change.tors[name]["mix"]):
            _refuse_others(entry, config, tornets)
    if change.has_arti and any(each.get("torrc") for each in change.options.values()):
        where = [validate(Where, entry, "--on") for entry in of_lines]
        roles = {
            role
            for one in where
            for role in ([_role_of(name, config, tornets) for name in one.names] or [one.role])
        } or set(get_args(Role))
        if "client" in roles:
            accepted = "--consensus, or --on role=relay"
            raise InputError("clients that run Arti take no lines of torrc", key="--torrc", accepted=accepted)


def _refuse_others(entry: Mapping[str, object], config: NetworkConfig, tornets: Tornets | None) -> None:
    """InputError where Arti is to run on what is no client."""
    where = validate(Where, entry, "--on")
    others = [name for name in where.names if _role_of(name, config, tornets) != "client"]
    if others:
        accepted = "clients, such as web1"
        raise InputError("Arti runs on clients alone", key="--on", value=others[0], accepted=accepted)


def _role_of(name: str, config: NetworkConfig, tornets: Tornets | None) -> Role | None:
    """What the host ``name`` is; None where no network has it."""
    if tornets is not None:
        roles: dict[Role, list[Collection[str]]] = {
            "authority": [network.authorities for network in tornets.networks],
            "relay": [network.relays for network in tornets.networks],
            "client": [network.clients for network in tornets.networks],
        }
        return next((role for role, sides in roles.items() if any(name in side for side in sides)), None)
    counts: dict[str, tuple[Role, int]] = {
        "authority": ("authority", config.authorities),
        "relay": ("relay", config.relay_count),
        **{group: ("client", count) for group, count in config.client_counts.items()},
    }
    match = re.fullmatch(r"([a-z]+)([1-9][0-9]{0,8})", name)
    role, many = counts.get(match[1], (None, 0)) if match else (None, 0)
    return role if match and int(match[2]) <= many else None


BADLY_PREDICTED = Path("experiments/backtest/badly_predicted.csv")
"""Columns ``option`` and ``sentence``."""


def backtest_notes(change: TorChange, file: Path = BADLY_PREDICTED) -> list[str]:
    """The sentences on ``change``."""
    names = change.option_names
    rows = read_csv(find(file), None).select("option", "sentence").rows()
    return [sentence for option, sentence in rows if option.lower() in names]


COST = "each run draws its own paths, so it takes more networks to show the same change"


def choose_pairing(
    text: str | None, change: TorChange, relays: int, era: str | None
) -> tuple[str, list[str]]:
    """The pairing that ``text`` asks for, or the usual one, and what there is to say of it and of the change.

    Raises InputError where common paths are asked for and cannot be had, or would hide the change.
    """
    notes = [*change.notes, *_feature_notes(change, relays)]
    why = _why_free(change)
    if text == PATHS and why:
        raise InputError(f"cannot be had: {why}", key="--pairing", value=text, accepted=FREE)
    if text is not None:
        return text, notes
    levels = usual_levels(era if era in ERAS else "today")
    for feature in FEATURES:
        least, auto = feature.least_relays, levels[feature.knob.name] == AUTO
        if not why and auto and feature.own_circuits and relays >= least:
            why = f"{feature.title}, which is on from {least} relays on, takes circuits of its own"
    return (FREE, [*notes, f"no common paths: {why}; {COST}"]) if why else (PATHS, notes)


def _bundles(change: TorChange) -> list[OptionBundle]:
    return [validate(OptionBundle, entry, None) for entry in change.options.values()]


def _why_free(change: TorChange) -> str:
    """Why the two sides cannot take the same paths; empty where they can."""
    for bundle in _bundles(change):
        if name := bundle.about_paths:
            return f"{name} is about the choice of paths or the building of circuits"
    if change.has_arti:
        return "Arti chooses its paths itself"
    if any(tor.get("series") == "none" or "program" in tor for tor in change.tors.values()):
        return f"a tor without the project's patches has no {PATHS_OPTION}"
    return ""


def _feature_notes(change: TorChange, relays: int) -> Iterator[str]:
    """A warning for each feature that the change turns on in a network that is too small for it."""
    lines = [line for bundle in _bundles(change) for line in (bundle.torrc.items(), bundle.consensus.items())]
    on = {name.lower() for each in lines for name, value in each if str(value) == "1"}
    for feature in FEATURES:
        names = {option.name.lower() for option in feature.knob.tor}
        if on & names and relays < feature.least_relays:
            yield (
                f"{feature.title} in {relays} relays: {feature.when_small}; it takes"
                f" {feature.least_relays} relays or more"
            )
