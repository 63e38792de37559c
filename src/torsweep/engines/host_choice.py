"""Which builds of tor a run uses, on which hosts, and which lines of torrc and parameters they get.

In: the tors that a variant asks for, its option bundle, the builds, a network. Out: the parts of run.json
that say so; hosts are in the order of network.json. Shares are drawn from the network's seed, by a stream
for each use: the same in every variant, and a larger share of a role has the hosts of a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import get_args

from torsweep.config.option_bundle import OptionBundle, Role, Where
from torsweep.config.reading import suggestion
from torsweep.config.tors import VariantTors
from torsweep.config.variant import Variant
from torsweep.engines.run_spec import RunSpec, UserLines, UserOptions
from torsweep.errors import InputError
from torsweep.network.model import Network, read_network
from torsweep.seeds import stream
from torsweep.units import counted

HostNames = tuple[str, ...]


def hosts_of(network: Network, where: Where, use: str, key: str) -> HostNames:
    """The hosts that ``where``, the value of ``key`` of an experiment, means, at least one. ``use`` names the
    draw. InputError when the network has no such host."""
    if where.share is None:
        return tuple(name for name, _ in _candidates(network, where, key))
    return split_hosts(network, where, [where.share], use, key)[0]


def split_hosts(
    network: Network, where: Where, shares: Sequence[float], use: str, key: str
) -> list[HostNames]:
    """The hosts that ``where`` means, its own share left out, parted by ``shares``; these sum to 1 or less.
    Hosts are taken in random order until the cumulated weight (in the consensus; of others than relays 1
    each) is nearest to the cumulated share; every part has at least one. InputError when the network has no
    such host, or fewer than shares."""
    weights = dict(_candidates(network, where, key))
    everyone = list(weights) if where.names else [name for name, _ in _hosts(network, where)]
    # Drawn over all hosts of the role, so that a position or a further key changes nobody's place.
    order = [everyone[place] for place in stream(network.seed, use, where.role).permutation(len(everyone))]
    order = [name for name in order if name in weights]
    if len(order) < len(shares):
        problem, accepted = "has fewer hosts in this network than shares", "at most one share a host"
        raise InputError(problem, key=key, value=len(order), accepted=accepted)
    total = sum(weights.values())
    reached = [0.0, *accumulate(weights[name] / total for name in order)]
    ends: list[int] = []
    for share in accumulate(shares):
        left = len(shares) - len(ends) - 1
        least = ends[-1] + 1 if ends else 1
        ends.append(min(max(_nearest(reached, share), least), len(order) - left))
    parts = [set(order[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return [tuple(name for name in weights if name in part) for part in parts]


def _nearest(values: Sequence[float], target: float) -> int:
    return min(range(len(values)), key=lambda place: abs(values[place] - target))


def hosts_text(network: Network, hosts: HostNames) -> str:
    """``4 hosts, with 31 % of the weight of all relays``; clients have no weight."""
    weights = {relay.name: relay.consensus_weight for relay in network.relays}
    part = sum(weights.get(host, 0) for host in hosts) / sum(weights.values())
    weight = f", with {100 * part:.0f} % of the weight of all relays" if part else ""
    return f"{counted(len(hosts), 'host')}{weight}"


def _hosts(network: Network, where: Where) -> list[tuple[str, int]]:
    if where.role == "relay":
        return [(relay.name, relay.consensus_weight) for relay in network.relays]
    return [(host.name, 1) for host in network.tor_hosts[where.role]]


def _candidates(network: Network, where: Where, key: str) -> list[tuple[str, int]]:
    """The hosts that ``where`` means, its share left out, with their weights."""
    if where.names:
        known = [name for role in get_args(Role) for name, _ in _hosts(network, Where(role=role))]
        for name in where.names:
            if name not in known:
                problem = f"no such host that runs tor{suggestion(name, known)}"
                accepted = f"{known[0]} to {known[-1]}"
                raise InputError(problem, key=f"{key}.names", value=name, accepted=accepted)
        return [(name, 1) for name in known if name in where.names]
    candidates = _hosts(network, where)
    what: dict[str, Mapping[str, str]] = {
        "position": {relay.name: relay.position for relay in network.relays},
        "kind": {client.name: client.kind for client in network.tor_clients},
    }
    for name, of_host in what.items():
        if asked := getattr(where, name):
            candidates = [(host, weight) for host, weight in candidates if of_host[host] in asked]
            if not candidates:
                there = ", ".join(sorted(set(of_host.values())))
                problem = f"the network has no such {where.role}"
                raise InputError(problem, key=f"{key}.{name}", value=", ".join(asked), accepted=there)
    return candidates


@dataclass(frozen=True)
class RunTors:
    """The ``tors`` of a run, the build of each by its name (none for a model), the options given."""

    tors: VariantTors = field(default_factory=VariantTors)
    builds: Mapping[str, str] = field(default_factory=dict)
    bundle: OptionBundle = field(default_factory=OptionBundle)

    @property
    def main_build(self) -> str | None:
        """The build of every host that has no other."""
        return self.builds.get(self.tors.main)

    def other_builds(self, variant: Variant, network: Network) -> dict[str, HostNames]:
        """The hosts of each build of a mix that is not the one around it; InputError when two tors of the mix
        are one build, or the network has too few hosts for it."""
        tors = self.tors
        if not tors.mix:
            return {}
        key = f"tors.{dict(variant.levels).get('tor')}"
        parts = split_hosts(network, tors.on, list(tors.mix.values()), "tor", f"{key}.on")
        builds = [self.builds[name] for name in tors.names]
        if len(set(builds)) < len(builds):
            problem, accepted = "two tors of the mix are one build", "builds that differ"
            raise InputError(problem, key=f"{key}.mix", value=", ".join(builds), accepted=accepted)
        hosts = dict(zip(tors.mix, parts, strict=True))
        return {self.builds[name]: hosts[name] for name in tors.mix if name != tors.main}

    def given(self, variant: Variant, network: Network) -> UserOptions:
        """The lines of the bundle with the hosts that get them; InputError when the network has none."""
        bundle, hosts = self.bundle, None
        if bundle.on is not None:
            key = f"options.{dict(variant.levels).get('options')}.on"
            hosts = hosts_of(network, bundle.on, "options", key)
        lines = (UserLines(lines=bundle.torrc, hosts=hosts),) if bundle.torrc else ()
        return UserOptions(torrc=lines, consensus=bundle.consensus)


STOCK_ALONE = RunTors()
"""The tor ``stock``, whichever build there is, without further options; and the model."""


def parted_hosts(run: RunSpec, network: Path) -> Iterator[str]:
    """A line for each part of the hosts that has a build or options of its own: how large it is."""
    parts = [(f"tor {build}", hosts) for build, hosts in run.other_builds.items()]
    parts += [(", ".join(part.lines), part.hosts) for part in run.given.torrc if part.hosts is not None]
    parts += [(f"program {program.command[0]}", program.hosts) for program in run.programs.programs]
    if parts:
        sampled, _ = read_network(network, latency=False)
        yield from (f"{what}: {hosts_text(sampled, hosts)}" for what, hosts in parts)
