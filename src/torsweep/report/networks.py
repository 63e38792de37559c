"""The networks of a plan, as a page describes them; ``torsweep network describe`` has their numbers.

In: network folders. Out: their hosts and checksums, and the warnings of the regimes, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.traffic import MARKOV, Traffic
from torsweep.config.variant import JOINED_BY
from torsweep.errors import InputError
from torsweep.network.describe import describe, overload_text, pauses
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, Network, read_network
from torsweep.provenance import sha256_of_file
from torsweep.runsets.plan_tables import Provenance

Row = tuple[str, ...]


@dataclass(frozen=True)
class Networks:
    """The networks of a plan: their hosts and warnings, each text once, checksums by name, and a sentence on
    an overload."""

    hosts: tuple[str, ...]
    sha256: tuple[Row, ...]
    warnings: tuple[str, ...]
    overload: str | None


def describe_networks(folders: Sequence[Path], provenance: Provenance, traffic: Traffic) -> Networks:
    """Descriptions of the networks in ``folders``, in order; their clients do ``traffic``.

    Of networks that were given, or that are without their latencies as in a demo, only the hosts. Raises
    InputError when one of them is not a network of ``provenance``, or one of those is missing.
    """
    bare = bool(provenance.given_networks) or not any((folder / LATENCY_FILE).exists() for folder in folders)
    known = {str(run["network_sha256"]) for run in provenance.runs}
    hashes, hosts, descriptions = [], [], []
    for folder in folders:
        network, latencies = read_network(folder, latency=not bare)
        sha256 = sha256_of_file(folder / NETWORK_FILE)
        if sha256 not in known:
            problem = "is no network of the plan, or has been sampled anew since its runs"
            raise InputError(problem, file=folder)
        # The name of the folder has the levels of knobs that change the network: ``paper+load=0.5``.
        name = ", ".join([f"seed {network.seed}", *folder.resolve().parent.name.split(JOINED_BY)[1:]])
        hashes.append((name, sha256))
        if bare:
            hosts.append(_hosts_of(network, given=bool(provenance.given_networks)))
            continue
        description = describe(network, latencies, traffic)
        descriptions.append(description)
        hosts.append(", ".join(f"{count} {kind}" for kind, count in description.hosts.items() if count))
    missing = known - {sha256 for _, sha256 in hashes}
    if missing:
        raise InputError("lacks networks that the plan's runs were on", value=len(missing))
    if not pauses(traffic.web):
        descriptions = []  # Without web clients that pause, there is no demand to compare with.
    warnings = dict.fromkeys(one.regime.warning for one in descriptions if one.regime.warning)
    overload = overload_text(descriptions) if descriptions else None
    return Networks(tuple(dict.fromkeys(hosts)), tuple(hashes), tuple(warnings), overload)


def _hosts_of(network: Network, *, given: bool) -> str:
    kinds = [client.kind for client in network.clients]
    if not given:
        return f"{len(network.relays)} relays, {len(kinds)} clients, {len(network.servers)} servers"
    counts = {
        "relays": len(network.relays),
        "authorities": len(network.authorities),
        "perf clients": len(kinds) - kinds.count(MARKOV),
        "Markov clients": kinds.count(MARKOV),
        "servers": len(network.servers),
    }
    listed = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"made by tornettools, with {listed}"
