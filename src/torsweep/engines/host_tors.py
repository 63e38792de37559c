"""Which build of tor each host of a run runs, which options it takes, and which consensus the run has.

In: run.json, the folder of builds. Out: :class:`HostTors`, the same for every engine of real tor; a refusal
where a build lacks what the run asks for, or the consensus is not what the user gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from torsweep.config.features import FEATURES, features_on
from torsweep.engines.hosts import PATHS_OPTION
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import InputError, TorsweepError
from torsweep.network.model import Network
from torsweep.network.relays import only_paths
from torsweep.tor import TOOLS
from torsweep.tor.builds import BuiltTor, find_build
from torsweep.tor.program import options_of
from torsweep.tor.torrc import LEAST_AUTHORITIES, differences, lacking

CACHED_CONSENSUS = "cached-microdesc-consensus"
"""The file in a data directory in which tor keeps its consensus, also where it avoids writing to disk."""


TURNS_AWAY, TURNED_AWAY_BELOW = [0, 4, 8, 11], [0, 4, 8]
"""From the first of these versions on, authorities turn relays below the second away (tor's ticket 40896).
Those of 0.4.9 have an option for it, with which the template of authorities lets every relay in."""


@dataclass(frozen=True)
class HostTors:
    """The build that most hosts run, which also makes the keys of all; and host → build of the ``others``."""

    usual: BuiltTor
    others: Mapping[str, BuiltTor] = field(default_factory=dict)

    def of(self, host: str) -> BuiltTor:
        """The build that ``host`` runs."""
        return self.others.get(host, self.usual)

    def options(self, host: str) -> frozenset[str]:
        """The options that the tor of ``host`` knows, which is no Arti."""
        return self._options[self.of(host).program]

    def is_arti(self, host: str) -> bool:
        """Whether ``host`` runs Arti."""
        return self.of(host).is_arti

    @cached_property
    def _options(self) -> dict[Path, frozenset[str]]:
        programs = {tor.program for tor in (self.usual, *self.others.values()) if not tor.is_arti}
        return {program: options_of(program) for program in programs}

    @property
    def version(self) -> str:
        """The versions of all builds, that of most hosts first."""
        return " and ".join(dict.fromkeys(tor.version for tor in (self.usual, *self.others.values())))

    def check(self, run: RunSpec, network: Network) -> None:
        """Raise InputError when a build lacks what ``run`` asks for, or the authorities would refuse it."""
        traced = set(run.tracing.hosts) if run.tracing else set()
        self._check_arti(run, network)
        for host in ("", *self.others, *sorted(traced)):
            if self.is_arti(host):
                continue
            named = f"tor {self.of(host).version}"
            problem = lacking(run.tor, self.options(host), build=named, traced=host in traced)
            if problem is not None:
                raise problem
        if run.paths and run.paths != only_paths(network):
            for client in network.tor_clients:
                if PATHS_OPTION not in self.options(client.name):
                    raise InputError(
                        f"cannot be had: tor {self.of(client.name).version} has no {PATHS_OPTION}",
                        key="paths",
                        accepted="pairing: free, or a tor with the series",
                    )
        for authority in network.authorities:
            for relay in network.relays:
                if self._turns_away(authority.name, relay.name):
                    raise InputError(
                        f"authorities of tor {self.of(authority.name).version} turn relays of 0.4.7 away",
                        key="tor_build",
                        value=self.of(relay.name).version,
                        accepted="authorities of tor 0.4.7 or 0.4.9",
                    )

    def _check_arti(self, run: RunSpec, network: Network) -> None:
        """InputError where another host than a client runs Arti, or the run asks of Arti what it has not."""
        arti = [host for host in self.others if self.is_arti(host)]
        problems: dict[str, object] = {
            "relays and authorities": self.is_arti("") or set(arti) - {one.name for one in network.clients}
        }
        problems |= {"given paths": arti and run.paths}
        problems |= {feature.knob.name: arti for feature in features_on(run.tor)}
        problems["lines of torrc"] = any(run.given_to(host) for host in arti)
        for what, is_set in problems.items():
            if is_set:
                features = ", ".join(feature.knob.name for feature in FEATURES)
                accepted = f"Arti for clients alone, without paths, {features} and lines of torrc"
                raise InputError(f"Arti is not for {what}", key="tor", accepted=accepted)

    def _turns_away(self, authority: str, relay: str) -> bool:
        """Whether one has a built-in limit for the version of the other, which no option can move."""
        movable = "MinimalAcceptedServerVersion" in self.options(authority)
        limit = not movable and _numbers(self.of(authority)) >= TURNS_AWAY
        return limit and _numbers(self.of(relay)) < TURNED_AWAY_BELOW

    def facts(self) -> dict[str, Any]:
        """What provenance says of them: ``tor``, and with more than one build ``other_tors``."""
        facts: dict[str, Any] = {"tor": _facts(self.usual)}
        if self.others:
            hosts: dict[str, list[str]] = {}
            for name, tor in self.others.items():
                hosts.setdefault(tor.version, []).append(name)
            facts["other_tors"] = [{**_facts(self.of(names[0])), "hosts": names} for names in hosts.values()]
        return facts


def _facts(tor: BuiltTor) -> dict[str, Any]:
    missing = {} if tor.is_arti else differences(options_of(tor.program))
    return {**tor.facts, **({"without_series": missing} if missing else {})}


def find_host_tors(run: RunSpec, builds: Path = TOOLS) -> HostTors:
    """The builds that ``run`` asks for, below ``builds``; where it names none, the one that stands.

    Raises ToolMissing when one is not there.
    """
    others: dict[str, BuiltTor] = {}
    for version, hosts in run.other_builds.items():
        built = find_build(builds, version)
        others |= dict.fromkeys(hosts, built)
    return HostTors(find_build(builds, run.tor_build), others)


def _numbers(tor: BuiltTor) -> list[int]:
    """The version as numbers: ``0.4.8.17-dev`` is 0, 4, 8, 17."""
    return [int(part) for part in re.findall(r"\d+", tor.provenance["version"])[:4]]


@dataclass(frozen=True)
class Consensus:
    """What the consensus of a run has: the flags and the weight of each relay by nickname, and parameters."""

    relays: Mapping[str, tuple[frozenset[str], int]]
    parameters: Mapping[str, int]


_CONSENSUS_RELAY = re.compile(
    r"^r (\S+) .*\n(?:[am] .*\n)*(?:s ?(.*)\n)?(?:(?:v|pr) .*\n)*(?:w Bandwidth=(\d+))?", re.M
)


def read_consensus(data_directory: Path) -> Consensus:
    """The consensus that a tor has kept; an empty one where it has kept none."""
    try:
        text = (data_directory / CACHED_CONSENSUS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    line = re.search(r"^params (.*)$", text, re.MULTILINE)
    pairs = (word.partition("=") for word in line[1].split()) if line else ()
    relays = _CONSENSUS_RELAY.findall(text)
    return Consensus(
        {name: (frozenset(flags.split()), int(weight or 0)) for name, flags, weight in relays},
        {name: int(value) for name, _, value in pairs},
    )


def require_consensus(
    consensus: Consensus, network: Network, parameters: Mapping[str, int], *, voted: bool = False
) -> None:
    """Raise TorsweepError unless ``consensus`` has every relay of ``network``, and the ``parameters``.

    With ``voted`` relays have the flags of their positions, and where enough authorities measure, their
    weights.
    """
    if not consensus.relays:
        raise TorsweepError("the authorities of this run came to no consensus")
    for relay in network.relays:
        if relay.name not in consensus.relays:
            raise TorsweepError(f"the consensus of this run has no {relay.name}")
    if voted and (problem := next(_vote_problems(consensus, network), "")):
        raise TorsweepError(f"the consensus of this run is not the network's: {problem}")
    for name, value in parameters.items():
        if consensus.parameters.get(name) != value:
            present = f"{name}={consensus.parameters[name]}" if name in consensus.parameters else f"no {name}"
            raise TorsweepError(
                f"the consensus of this run has {present}, not {name}={value} as it was given"
            )


def _vote_problems(consensus: Consensus, network: Network) -> Iterator[str]:
    weighted = len(network.authorities) >= LEAST_AUTHORITIES
    for relay in network.relays:
        flags, weight = consensus.relays[relay.name]
        due = {
            "Guard": "guard" in relay.position,
            "Exit": "exit" in relay.position,
            "Running": True,
            "V2Dir": True,
        }
        for flag, has in due.items():
            if (flag in flags) != has:
                yield f"{relay.name} {'lacks' if has else 'has'} the flag {flag}"
        if weighted and weight != relay.consensus_weight:
            yield f"{relay.name} weighs {weight}, not {relay.consensus_weight}"
