"""Which hosts of a network an ``on`` means: for option bundles, and for tors that share a network.

In: a network, a :class:`~torsweep.config.where.Where`. Out: names of hosts, in the order of network.json.
Shares are drawn from the network's seed by a stream that nothing but their use names, so that they are the
same in every variant, and a larger share of a role has the hosts of a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import get_args

from torsweep.config.reading import suggestion
from torsweep.config.where import Role, Where
from torsweep.errors import InputError
from torsweep.network.model import Network
from torsweep.seeds import stream

Hosts = tuple[str, ...]


def hosts_of(network: Network, where: Where, use: str, key: str) -> Hosts:
    """The hosts that ``where``, which stands under ``key`` of an experiment, means in ``network``.

    At least one is in a share. ``use`` names the draw. Raises InputError when the network has no such host.
    """
    if where.share is None:
        return tuple(name for name, _ in _candidates(network, where, key))
    return split_hosts(network, where, [where.share], use, key)[0]


def split_hosts(network: Network, where: Where, shares: Sequence[float], use: str, key: str) -> list[Hosts]:
    """The hosts that ``where`` means, its own share left out, parted by ``shares``; these sum to 1 or less.

    Hosts are taken in random order until the cumulated weight (of relays in the consensus; of others each
    counts 1) is nearest to the cumulated share; every part has at least one. Raises InputError when the
    network has no such host, or fewer than shares.
    """
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


def _nearest(values: Sequence[float], wanted: float) -> int:
    return min(range(len(values)), key=lambda place: abs(values[place] - wanted))


def hosts_text(network: Network, hosts: Hosts) -> str:
    """``4 hosts, with 31 % of the weight of all relays``."""
    weights = {relay.name: relay.consensus_weight for relay in network.relays}
    part = sum(weights.get(host, 0) for host in hosts) / sum(weights.values())
    plural = "s" if len(hosts) > 1 else ""
    return f"{len(hosts)} host{plural}, with {100 * part:.0f} % of the weight of all relays"


def _hosts(network: Network, where: Where) -> list[tuple[str, int]]:
    """Every host of the role with its weight."""
    if where.role == "relay":
        return [(relay.name, relay.consensus_weight) for relay in network.relays]
    if where.role == "client":
        return [(client.name, 1) for client in network.clients]
    return [(authority.name, 1) for authority in network.authorities]


def _candidates(network: Network, where: Where, key: str) -> list[tuple[str, int]]:
    """The hosts that ``where`` means, its share left out."""
    if where.names:
        known = [name for role in get_args(Role) for name, _ in _hosts(network, Where(role=role))]
        for name in where.names:
            if name not in known:
                problem = f"no such host that runs tor{suggestion(name, known)}"
                accepted = f"{known[0]} to {known[-1]}"
                raise InputError(problem, key=f"{key}.names", value=name, accepted=accepted)
        return [(name, 1) for name in known if name in where.names]
    found = _hosts(network, where)
    if where.position:
        positions = {relay.name: relay.position for relay in network.relays}
        found = [(name, weight) for name, weight in found if positions[name] in where.position]
        if not found:
            there, asked = ", ".join(sorted(set(positions.values()))), ", ".join(where.position)
            problem = "the network has no such relay"
            raise InputError(problem, key=f"{key}.position", value=asked, accepted=there)
    return found
