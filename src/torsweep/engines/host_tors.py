"""Which build of tor each host of a run runs, which options it takes, and what its tor is set to.

In: run.json, the folder of builds; of each host its options in tor's own writing, and the consensus in its
data directory. Out: :class:`HostTors`; a refusal where a build lacks what the run asks for, or the consensus
is not what the user gave; the table ``settings``, in which hosts that run Arti have only their program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.conflux import CONFLUX
from torsweep.config.option_bundle import Role
from torsweep.engines.host_files import PATHS_OPTION
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_schema import DEFAULT, NOT_KNOWN, SETTINGS
from torsweep.errors import InputError, TorsweepError
from torsweep.network.model import Network
from torsweep.network.relays import only_paths
from torsweep.tor import TOOLS
from torsweep.tor.builds import BuiltTor, code_sha256, find_build
from torsweep.tor.program import as_tor_writes, options_of
from torsweep.tor.torrc import (
    LEAST_AUTHORITIES,
    REFILL_PHASE,
    consensus_parameters,
    differences,
    knob_options,
    lacking,
)

CACHED_CONSENSUS = "cached-microdesc-consensus"
"""The file in a data directory in which tor keeps its consensus, also where it avoids writing to disk."""


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

    def _check_arti(self, run: RunSpec, network: Network) -> None:
        """InputError where another host than a client runs Arti, or the run asks of Arti what it has not."""
        arti = [host for host in self.others if self.is_arti(host)]
        problems: dict[str, object] = {
            "relays and authorities": self.is_arti("") or set(arti) - {one.name for one in network.clients},
            "given paths": arti and run.paths,
            CONFLUX.name: arti and run.tor.conflux,
            "programs beside it": any(run.programs.of(host) for host in arti),
            "lines of torrc": any(run.given_to(host) for host in arti),
            "traces of cells": run.tracing and set(arti) & set(run.tracing.hosts),
        }
        accepted = "Arti for clients alone, without paths, conflux, programs, lines of torrc and traces"
        for what, is_set in problems.items():
            if is_set:
                raise InputError(f"Arti is not for {what}", key="tor", accepted=accepted)

    def facts(self) -> dict[str, Any]:
        """What provenance says of them: ``tor``, and with more than one build ``other_tors``."""
        if not self.others:
            return {"tor": _facts(self.usual)}
        hosts: dict[str, list[str]] = {}
        for name, tor in self.others.items():
            hosts.setdefault(tor.version, []).append(name)
        others = [{**_facts(self.of(names[0])), "hosts": names} for names in hosts.values()]
        return {"tor": _facts(self.usual), "other_tors": others}


def _facts(tor: BuiltTor) -> dict[str, Any]:
    missing = {} if tor.is_arti else differences(options_of(tor.program))
    return {**tor.facts, **({"without_series": missing} if missing else {})}


def find_host_tors(run: RunSpec, builds: Path = TOOLS) -> HostTors:
    """The builds that ``run`` asks for, below ``builds``; where it names none, the current one. ToolMissing
    when one is not there."""
    others: dict[str, BuiltTor] = {}
    for version, hosts in run.other_builds.items():
        built = find_build(builds, version)
        others |= dict.fromkeys(hosts, built)
    return HostTors(find_build(builds, run.tor_build), others)


@dataclass(frozen=True)
class Consensus:
    """A run's consensus: the flags and the weight of each relay by nickname, and parameters."""

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
    """Raise TorsweepError unless ``consensus`` has every relay of ``network``, and the ``parameters``; when
    ``voted``, with the flags of its position and, where enough authorities measure, its weight."""
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
        guard, exit_ = "guard" in relay.position, "exit" in relay.position
        due = {"Guard": guard, "Exit": exit_, "Running": True, "V2Dir": True}
        for flag, has in due.items():
            if (flag in flags) != has:
                yield f"{relay.name} {'lacks' if has else 'has'} the flag {flag}"
        if weighted and weight != relay.consensus_weight:
            yield f"{relay.name} weighs {weight}, not {relay.consensus_weight}"


PROGRAM = "tor"
"""The name of the program's file."""

CODE_DIGITS = 12
OWN = "each its own"
"""Stands for the values of an option that nobody asked for and that hosts of a role differ in, or a path."""

_Row = tuple[str, str, str, str | None, str]


def settings_frame(
    run: RunSpec,
    network: Network,
    tors: HostTors,
    options: Mapping[str, Mapping[str, str]],
    data: Mapping[str, Path],
) -> pl.DataFrame:
    """A row for each role, name, configured value and value found, with the number of hosts. ``options`` are,
    by host, those that are not tor's default; a host without an entry did not say them. ``data``: its data
    directory."""
    rows: Counter[_Row] = Counter()
    for role, hosts in network.tor_hosts.items():
        present = [host.name for host in hosts if host.name in data]
        rows.update((role, "program", PROGRAM, *_program(tors, host)) for host in present)
        of_tor = [host for host in present if not tors.is_arti(host)]
        rows.update(_parameters(run, network, role, [data[host] for host in of_tor]))
        told = {host: _given(run, network, tors, role, host) for host in of_tor}
        rows.update(_options(role, told, {host: options[host] for host in of_tor if host in options}))
    ordered = sorted(rows.items(), key=lambda item: [str(part) for part in item[0]])
    return pl.DataFrame([(*row, hosts) for row, hosts in ordered], SETTINGS.polars, orient="row")


def _program(tors: HostTors, host: str) -> tuple[str, str]:
    built = tors.of(host)
    return built.version, code_sha256(built)[:CODE_DIGITS]


def _parameters(run: RunSpec, network: Network, role: Role, folders: Iterable[Path]) -> Iterator[_Row]:
    # A network of tornettools has parameters of its own; it does not get the era's.
    era = {} if network.tornettools else consensus_parameters(run.tor)
    given = {**era, **run.given.consensus}
    for folder in folders:
        found = read_consensus(folder).parameters
        for name in dict.fromkeys((*given, *found)):
            wanted = str(given[name]) if name in given else None
            yield role, "parameter", name, wanted, str(found.get(name, DEFAULT))


def _options(
    role: Role, given: Mapping[str, Mapping[str, str]], options: Mapping[str, Mapping[str, str]]
) -> Iterator[_Row]:
    names = dict.fromkeys(name for side in (given, options) for of_host in side.values() for name in of_host)
    for name in names:
        values = {host: options[host].get(name, DEFAULT) if host in options else NOT_KNOWN for host in given}
        wanted = {host: of_host.get(name) for host, of_host in given.items()}
        unset = {values[host] for host in values if wanted[host] is None}
        own = len(unset) > 1 or any("/" in value for value in unset)
        for host, value in values.items():
            found = OWN if own and wanted[host] is None else value
            yield role, "option", name, wanted[host], found


def _given(run: RunSpec, network: Network, tors: HostTors, role: Role, host: str) -> dict[str, str]:
    """The options that knobs, era and user give to the tor of ``host``, in tor's own writing."""
    relay = next((one for one in network.relays if one.name == host), None) if role == "relay" else None
    known = tors.options(host)
    # Each relay has a phase of its own, which no level says.
    of_run = {} if network.tornettools else knob_options(role, run.tor, relay)
    lines = [f"{name} {value}" for name, value in of_run.items() if name in known and name != REFILL_PHASE]
    return as_tor_writes(tors.of(host).program, [*lines, *run.given_to(host)], role, DEFAULT)
