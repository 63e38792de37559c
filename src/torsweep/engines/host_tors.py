"""Which build of tor each host of a run runs, what it can be told, and which consensus they came to.

In: run.json, the folder of builds. Out: :class:`HostTors`, the same for every engine of real tor; a refusal
where a build lacks what the run asks for, or the consensus is not what the user gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from torsweep.engines.run_spec import RunSpec
from torsweep.errors import TorsweepError
from torsweep.tor.build import BuiltTor, find_build
from torsweep.tor.capabilities import options_of
from torsweep.tor.place import TOOLS
from torsweep.tor.torrc import differences, lacking

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
        """The options that the tor of ``host`` knows."""
        return self._options[self.of(host).program]

    @cached_property
    def _options(self) -> dict[Path, frozenset[str]]:
        programs = {tor.program for tor in (self.usual, *self.others.values())}
        return {program: options_of(program) for program in programs}

    @property
    def version(self) -> str:
        """The versions of all builds, that of most hosts first."""
        return " and ".join(dict.fromkeys(tor.version for tor in (self.usual, *self.others.values())))

    def check(self, run: RunSpec) -> None:
        """Raise InputError when a build lacks what the settings or the tracing of ``run`` come to."""
        traced = set(run.tracing.hosts) if run.tracing else set()
        for host in ("", *self.others, *sorted(traced)):
            named = f"tor {self.of(host).version}"
            problem = lacking(run.tor, self.options(host), build=named, traced=host in traced)
            if problem is not None:
                raise problem

    def facts(self) -> dict[str, Any]:
        """What provenance says of them: ``tor``, and with more than one build ``other_tors``."""
        found: dict[str, Any] = {"tor": _facts(self.usual)}
        if self.others:
            hosts: dict[str, list[str]] = {}
            for name, tor in self.others.items():
                hosts.setdefault(tor.version, []).append(name)
            found["other_tors"] = [{**_facts(self.of(own[0])), "hosts": own} for own in hosts.values()]
        return found


def _facts(tor: BuiltTor) -> dict[str, Any]:
    told = differences(options_of(tor.program))
    return {**tor.facts, **({"without_series": told} if told else {})}


def find_host_tors(run: RunSpec, builds: Path = TOOLS) -> HostTors:
    """The builds that ``run`` asks for, below ``builds``; where it names none, the one that stands.

    Raises ToolMissing when one is not there.
    """
    others: dict[str, BuiltTor] = {}
    for version, hosts in run.other_builds.items():
        built = find_build(builds, version)
        others |= dict.fromkeys(hosts, built)
    return HostTors(find_build(builds, run.tor_build), others)


def consensus_of(data_directory: Path) -> dict[str, int]:
    """The parameters in the consensus that a tor has kept; none where it has kept no consensus."""
    try:
        text = (data_directory / CACHED_CONSENSUS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    line = re.search(r"^params (.*)$", text, re.MULTILINE)
    pairs = (word.partition("=") for word in line[1].split()) if line else ()
    return {name: int(value) for name, _, value in pairs}


def require_given(found: Mapping[str, int], given: Mapping[str, int]) -> None:
    """Raise TorsweepError unless the consensus with the parameters ``found`` has each that was ``given``."""
    for name, value in given.items():
        if found.get(name) != value:
            there = f"{name}={found[name]}" if name in found else f"no {name}"
            raise TorsweepError(f"the consensus of this run has {there}, not {name}={value} as it was given")
