"""Which builds of tor a run uses, on which hosts, and which lines of torrc and parameters they get.

In: the tors that a variant asks for, its option bundle, the files that name builds, a network. Out: the parts
of run.json that say so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from torsweep.config.asked_tor import AskedTor
from torsweep.config.experiment import Experiment
from torsweep.config.given_options import OptionBundle
from torsweep.config.tors import TorSource
from torsweep.config.variant import Variant
from torsweep.config.where import Role
from torsweep.engines.contract import Engine
from torsweep.engines.hosts import Hosts, hosts_of, hosts_text, split_hosts
from torsweep.engines.run_spec import Given, GivenLines, RunSpec
from torsweep.errors import InputError, ToolMissing
from torsweep.network.model import Network, read_network
from torsweep.tor import TOOLS
from torsweep.tor.build import find_build, read_stamp
from torsweep.tor.identity import marker_name, planned_key
from torsweep.tor.program import refuse_options


@dataclass(frozen=True)
class RunTors:
    """What plays a run: the tors that are ``asked`` for, the build of each by its name, the options given.

    A model has no builds.
    """

    asked: AskedTor = field(default_factory=AskedTor)
    builds: Mapping[str, str] = field(default_factory=dict)
    bundle: OptionBundle = field(default_factory=OptionBundle)

    @property
    def main_build(self) -> str | None:
        """The build of every host that has no other."""
        return self.builds.get(self.asked.main)

    def other_builds(self, variant: Variant, network: Network) -> dict[str, Hosts]:
        """The hosts of each build of a mix that is not the one around it.

        Raises InputError when two tors of the mix are one build, or the network has too few hosts for it.
        """
        asked = self.asked
        if not asked.mix:
            return {}
        key = f"tors.{dict(variant.levels).get('tor')}"
        parts = split_hosts(network, asked.on, list(asked.mix.values()), "tor", f"{key}.on")
        builds = [self.builds[name] for name in asked.names]
        if len(set(builds)) < len(builds):
            problem, accepted = "two tors of the mix are one build", "builds that differ"
            raise InputError(problem, key=f"{key}.mix", value=", ".join(builds), accepted=accepted)
        hosts = dict(zip(asked.mix, parts, strict=True))
        return {self.builds[name]: hosts[name] for name in asked.mix if name != asked.main}

    def given(self, variant: Variant, network: Network) -> Given:
        """The lines of the bundle with the hosts that get them; InputError when the network has none."""
        bundle, hosts = self.bundle, None
        if bundle.on is not None:
            key = f"options.{dict(variant.levels).get('options')}.on"
            hosts = hosts_of(network, bundle.on, "options", key)
        lines = (GivenLines(lines=bundle.torrc, hosts=hosts),) if bundle.torrc else ()
        return Given(torrc=lines, consensus=bundle.consensus)


STOCK_ALONE = RunTors()
"""The tor ``stock``, whichever build stands, without further options; and the model."""


def read_stamps(texts: Sequence[str], main: str) -> dict[str, Path]:
    """``NAME=FILE`` texts as files by the name of a tor; without a name, the file is of the tor ``main``."""
    named = (re.fullmatch(r"(?:([a-z][a-z0-9_]*)=)?(.*)", text, re.DOTALL) for text in texts)
    return {match[1] or main: Path(match[2]) for match in named if match is not None}


def tor_builds(
    engine: Engine, sources: Mapping[str, TorSource], names: Sequence[str], stamps: Mapping[str, Path]
) -> dict[str, str]:
    """The build of each tor in ``names``: what its file in ``stamps`` names; without one, what stands.

    None for a model, and for ``stock`` where no build stands: the run is then not bound to one. Raises
    InputError when a file names no build; ToolMissing when another tor is not built.
    """
    if not engine.runs_tor:
        return {}
    for name in stamps:
        if name not in names:
            raise InputError("is no tor of this run", key="--tor", value=name, accepted=", ".join(names))
    found = {}
    for name in names:
        if name in stamps:
            found[name] = read_stamp(stamps[name])
        elif sources[name].is_stock:
            with suppress(ToolMissing):
                found[name] = find_build().version
        else:
            found[name] = _standing(name, sources[name])
    return found


def _standing(name: str, source: TorSource) -> str:
    stamp = TOOLS / marker_name(planned_key(source))
    if not stamp.is_file():
        command = shlex.join(["torsweep", "tor", "build", *source.arguments(), "--stamp", str(stamp)])
        raise ToolMissing(f"tors.{name}: is not built; `{command}` builds it")
    return read_stamp(stamp)


def parted_hosts(run: RunSpec, network: Path) -> Iterator[str]:
    """A line for each part of the hosts that has a build or options of its own: how large it is."""
    parts = [(f"tor {build}", hosts) for build, hosts in run.other_builds.items()]
    parts += [(", ".join(part.lines), part.hosts) for part in run.given.torrc if part.hosts is not None]
    if parts:
        sampled, _ = read_network(network, latency=False)
        yield from (f"{what}: {hosts_text(sampled, hosts)}" for what, hosts in parts)


def require_options(
    programs: Iterable[Path],
    experiment: Experiment,
    variants: Iterable[Variant] = (),
    network: Network | None = None,
) -> None:
    """Return when each of ``programs`` takes each option bundle of ``experiment`` in every role concerned.

    The bundles are those of the experiment's own plan and of ``variants``. Without a network, a bundle for
    hosts by name is taken for one of relays. Raises InputError, which names the bundle, the line and the
    nearest option.
    """
    levels = [dict(variant.levels).get("options") for variant in variants]
    names = dict.fromkeys([*experiment.knobs.get("options", ()), *filter(None, levels)])
    bundles = {name: experiment.bundles[name] for name in names if experiment.bundles[name].torrc}
    for program in programs if bundles else ():
        for name, bundle in bundles.items():
            lines = [f"{option} {value}" for option, value in bundle.torrc.items()]
            for role in _roles(bundle, network):
                try:
                    refuse_options(program, lines, role)
                except InputError as error:
                    raise InputError(str(error), key=f"options.{name}.torrc") from None


def _roles(bundle: OptionBundle, network: Network | None) -> tuple[Role, ...]:
    if bundle.on is None:
        return get_args(Role)
    if not bundle.on.names or network is None:
        return (bundle.on.role,)
    hosts = {"relay": network.relays, "client": network.clients, "authority": network.authorities}
    names = set(bundle.on.names)
    return tuple(role for role in get_args(Role) if names & {host.name for host in hosts[role]})
