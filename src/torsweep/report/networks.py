"""The networks of a plan, as a page describes them.

In: network folders. Out: a row each of what ``torsweep network describe`` says of capacity and demand, and
the warnings of the regimes, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.traffic import MARKOV, Traffic
from torsweep.config.variant import JOINED_BY
from torsweep.errors import InputError
from torsweep.network.describe import Description, describe, overload_text, pauses
from torsweep.network.load import load_text
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, Network, read_network
from torsweep.provenance import sha256_of_file
from torsweep.runsets.plan_tables import Provenance
from torsweep.stats.text import TextTable

Row = tuple[str, ...]

_MIB = 2**20
_HEADER = (
    "network",
    "usable capacity, MiB/s",
    "over three hops, MiB/s",
    "web clients ask for at most, MiB/s",
    "load",
    "a page on an empty network, s",
    "bound by token buckets",
)
_NOTES = (
    "Relays carry each byte over three hops, so that clients share a third of the usable capacity. "
    "What web clients ask for at most is what they would fetch if downloads took no time; where that is more "
    "than three hops carry, downloads slow down until demand equals capacity. The load of a kind of client "
    "is what it asks for / what three hops carry; clients that never pause count with what they would fetch "
    "alone.",
)


@dataclass(frozen=True)
class Networks:
    """The networks of a plan: their hosts, a table of the rest, hashes by name, and what is unusual.

    ``hosts`` and ``warnings`` have each text once; ``overload`` says in a sentence that there is one.
    """

    hosts: tuple[str, ...]
    table: TextTable
    sha256: tuple[Row, ...]
    warnings: tuple[str, ...]
    overload: str | None


def describe_networks(folders: Sequence[Path], provenance: Provenance, traffic: Traffic) -> Networks:
    """Descriptions of the networks in ``folders``, in order; their clients do ``traffic``.

    Of networks that were given, or that are without their latencies as in a demo, only the hosts and what
    relays can carry. Raises InputError when one of them is not a network of ``provenance``, or one of those
    is missing.
    """
    bare = bool(provenance.given_networks) or not any((folder / LATENCY_FILE).exists() for folder in folders)
    asks = not bare and pauses(traffic.web)
    known = {str(run["network_sha256"]) for run in provenance.runs}
    rows: list[Row] = []
    hashes, hosts, descriptions = [], [], []
    for folder in folders:
        network, latencies = read_network(folder, latency=not bare)
        sha256 = sha256_of_file(folder / NETWORK_FILE)
        if sha256 not in known:
            raise InputError(
                "is no network of the plan, or has been sampled anew since its runs", file=folder
            )
        # The name of the folder has the levels of knobs that change the network: ``paper+load=0.5``.
        name = ", ".join([f"seed {network.seed}", *folder.resolve().parent.name.split(JOINED_BY)[1:]])
        hashes.append((name, sha256))
        if bare:
            rows.append((name, _usable(network)))
            hosts.append(_hosts_of(network, given=bool(provenance.given_networks)))
            continue
        description = describe(network, latencies, traffic)
        descriptions.append(description)
        rows.append((name, *_numbers(description)[: None if asks else 1]))
        hosts.append(", ".join(f"{count} {kind}" for kind, count in description.hosts.items() if count))
    missing = known - {sha256 for _, sha256 in hashes}
    if missing:
        raise InputError("lacks networks that the plan's runs were on", value=len(missing))
    header, notes = (_HEADER, _NOTES) if asks else (_HEADER[:2], ())
    table = TextTable("The networks", header, tuple(rows), notes)
    warnings = [each.regime.warning for each in descriptions if asks and each.regime.warning]
    overload = overload_text(descriptions) if asks else None
    return Networks(
        tuple(dict.fromkeys(hosts)), table, tuple(hashes), tuple(dict.fromkeys(warnings)), overload
    )


def _usable(network: Network) -> str:
    return f"{sum(relay.usable_bytes_per_s for relay in network.relays) / _MIB:.1f}"


def _hosts_of(network: Network, *, given: bool) -> str:
    """The hosts of a network that was ``given``, made by tornettools, or sampled."""
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


def _numbers(description: Description) -> Row:
    regime = description.regime
    usable = sum(position.usable_bytes_per_s for position in description.positions.values())
    return (
        f"{usable / _MIB:.1f}",
        f"{regime.third_of_capacity_bytes_per_s / _MIB:.1f}",
        f"{regime.demand_ceiling_bytes_per_s / _MIB:.1f}",
        load_text(description.load),
        f"{regime.unloaded_download_s:.1f}",
        f"{regime.bucket_bound_share:.0%}".replace("%", " %"),
    )
