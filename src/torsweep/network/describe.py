"""Describes a network before anything runs on it.

In: a :class:`Network`, its latencies, and what an experiment's clients do. Out: :class:`Description`:
capacity by position, quantiles of latency and bandwidth, the load of each kind of client, and the regime,
which is how the demand of web clients compares with the capacity of relays; and the same as tables on the
terminal.

A client that pauses asks for at most one response per pause, as if downloads took no time. One that never
pauses always asks for more: it counts with what it would fetch if it were alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from torsweep.config.traffic import (
    CLIENT_GROUPS,
    KINDS,
    ONION,
    USUAL_GROUPS,
    AnyKind,
    ClientTraffic,
    Traffic,
)
from torsweep.config.world_knobs import CELL_PAYLOAD_BYTES
from torsweep.formats.files import MIB
from torsweep.network.model import POSITIONS, Client, Latencies, Network
from torsweep.seeds import stream

IDLE_BELOW = 0.2
HOPELESS_ABOVE = 4.0
"""Offered web demand over a third of capacity. At 4 a page takes three times the pause after it, even
if bulk clients asked for nothing."""

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)

HOPS = 3

RELAY_BYTES_PER_CLIENT_BYTE = 3.3
"""What relays write for each byte of payload that clients receive: cells of 514 bytes with 498 of payload,
over three hops, their TLS records, and cells the other way; 3.30 to 3.35 in three engines
(docs/tables/measures_engines.csv)."""

_STREAM_WINDOW_CELLS = 500
_ROUND_TRIPS_BEFORE_DATA = 2
"""Opening the stream, then the request."""

_MOST_SAMPLED_PAIRS = 1_000_000
"""The most pairs of hosts that are described; so many random ones stand for more."""

_NOBODY = ClientTraffic.model_validate({"response": "1 B", "think": {"min": "1 s", "max": "1 s"}})
"""Takes the place of web clients that pause if there are none."""


@dataclass(frozen=True)
class PositionCapacity:
    """Relays of one position: how many, their rates in bytes/s, their share of consensus weight."""

    relays: int
    capacity_bytes_per_s: int
    usable_bytes_per_s: int
    weight_share: float


@dataclass(frozen=True)
class Offered:
    """The demand of a kind of client: in bytes/s, as a share of what relays can carry over three hops, and
    whether it pauses between downloads."""

    bytes_per_s: int
    over_third: float
    pauses: bool


@dataclass(frozen=True)
class Regime:
    """Web demand against capacity; rates in bytes/s, times in seconds.

    ``third_of_capacity``: usable capacity over three hops. ``demand_ceiling``: web clients × bytes of a
    response / mean pause, as if downloads took no time. ``crowded_download_s``: the mean download time at
    which web clients alone fill the network (clients × bytes / third − pause); None where they do not,
    because they ask for less than that even when downloads take no longer than on an empty network.
    ``bucket_bound_share``: of usable capacity, where the bucket rather than the link binds.
    """

    third_of_capacity_bytes_per_s: int
    demand_ceiling_bytes_per_s: int
    unloaded_download_s: float
    crowded_download_s: float | None
    bucket_bound_share: float
    warning: str | None


@dataclass(frozen=True)
class Description:
    """All there is to say; ``quantiles`` are at ``LEVELS``, ``load`` is by kind of client."""

    hosts: dict[str, int]
    positions: dict[str, PositionCapacity]
    quantiles: dict[str, list[float]]
    load: dict[str, Offered]
    regime: Regime


def pauses(web: ClientTraffic | None) -> bool:
    """Whether there are web clients that pause, so that their demand has a ceiling."""
    return web is not None and web.think.mean_s > 0


def describe(network: Network, latencies: Latencies, traffic: Traffic) -> Description:
    """The description of ``network`` with the round trips of ``latencies``; its clients do ``traffic``.
    Without web clients that pause its regime says nothing of demand."""
    kinds = {kind: network.clients_of(kind) for kind in KINDS}
    groups = {
        name: sum(len(network.clients_of(kind)) for kind in group.kinds)
        for name, group in CLIENT_GROUPS.items()
    }
    rtt_ms = rtt_samples_ms(network, latencies)
    round_trip_s = _round_trip_s(rtt_ms)
    web = traffic.web if traffic.web is not None and pauses(traffic.web) else _NOBODY
    rates = {
        f"{kind} {direction} Mbit/s": [
            getattr(client, f"{direction}_bytes_per_s") / 125_000 for client in clients
        ]
        for kind, clients in kinds.items()
        for direction in ("down", "up")
    }
    samples: dict[str, Any] = {**{f"RTT ms, {name}": values for name, values in rtt_ms.items()}, **rates}
    return Description(
        hosts={
            "relays": len(network.relays),
            "authorities": len(network.authorities),
            **{
                f"{group} clients": count for group, count in groups.items() if count or group in USUAL_GROUPS
            },
            "servers": len(network.servers),
        },
        positions={position: _capacity(network, position) for position in POSITIONS},
        quantiles={name: _quantiles(values) for name, values in samples.items() if len(values)},
        load=offered_load(network, round_trip_s, traffic),
        regime=_regime(network, round_trip_s, web),
    )


def _quantiles(values: Any) -> list[float]:
    return [round(float(value), 3) for value in np.quantile(values, LEVELS)]


def rtt_samples_ms(network: Network, latencies: Latencies) -> dict[str, NDArray[np.float64]]:
    """Round trips between relays, clients and relays, relays and servers, in milliseconds."""
    relays = np.arange(len(network.relays))
    first_client = len(relays) + len(network.authorities)
    counted = np.array([client.kind in KINDS for client in network.clients], dtype=bool)
    clients = first_client + np.flatnonzero(counted)
    servers = np.arange(first_client + len(counted), network.node_count)
    ends = {
        "relay to relay": (relays, relays),
        "client to relay": (relays, clients),
        "relay to server": (relays, servers),
    }
    return {name: _pairs_ms(latencies, *hosts, network.seed) for name, hosts in ends.items()}


def _pairs_ms(
    latencies: Latencies, first: NDArray[np.int64], second: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """RTTs of each of ``first`` with each of ``second``, milliseconds; each pair of the same hosts once."""
    pairs = len(first) * len(second)
    if pairs > _MOST_SAMPLED_PAIRS:
        chosen = stream(seed, "describe", "pairs").integers(0, pairs, _MOST_SAMPLED_PAIRS)
    else:
        chosen = np.arange(pairs)
    one, other = np.divmod(chosen, max(1, len(second)))
    one, other = first[one], second[other]
    once = one < other
    return latencies.between(one[once], other[once]) / 1000


def _capacity(network: Network, position: str) -> PositionCapacity:
    relays = [relay for relay in network.relays if relay.position == position]
    weight = sum(relay.consensus_weight for relay in relays)
    return PositionCapacity(
        relays=len(relays),
        capacity_bytes_per_s=sum(relay.capacity_bytes_per_s for relay in relays),
        usable_bytes_per_s=sum(relay.usable_bytes_per_s for relay in relays),
        weight_share=round(weight / sum(relay.consensus_weight for relay in network.relays), 4),
    )


def usable_third(network: Network) -> int:
    """Bytes/s that the relays can carry over three hops."""
    return sum(relay.usable_bytes_per_s for relay in network.relays) // HOPS


def offered_load(network: Network, round_trip_s: float, traffic: Traffic) -> dict[str, Offered]:
    """The demand of each group of clients in the network, by name."""
    third, load = usable_third(network), {}
    for name, group in CLIENT_GROUPS.items():
        kinds = group.traffic(traffic)
        rates = [_requested(network, kind, does, round_trip_s) for kind, does in kinds.items()]
        if rate := sum(rates):
            pauses = all(does.think.mean_s > 0 for does in kinds.values())
            load[name] = Offered(round(rate), round(rate / third, 3), pauses)
    return load


def _requested(network: Network, kind: AnyKind, does: ClientTraffic, round_trip_s: float) -> float:
    clients = network.clients_of(kind)
    if not clients:
        return 0.0
    seconds = does.think.mean_s or unloaded_download_s(clients, round_trip_s, does.mean_response)
    return len(clients) * asked_at_once(does) / seconds


def asked_at_once(does: ClientTraffic) -> float:
    """Mean bytes that a client asks for between two pauses; the objects of a page are in its response."""
    return does.mean_response * (1 if does.has_pages else does.parallel)


def unloaded_download_s(clients: Sequence[Client], round_trip_s: float, response_bytes: int) -> float:
    """A download's time where nobody else is: round trips, then the response at the slower of the median
    client's link and a full stream window (500 cells) a round trip."""
    window = _STREAM_WINDOW_CELLS * CELL_PAYLOAD_BYTES / round_trip_s
    down = float(np.median([client.down_bytes_per_s for client in clients]))
    return _ROUND_TRIPS_BEFORE_DATA * round_trip_s + response_bytes / min(window, down)


def _regime(network: Network, round_trip_s: float, web: ClientTraffic) -> Regime:
    usable = sum(relay.usable_bytes_per_s for relay in network.relays)
    bound = sum(relay.usable_bytes_per_s for relay in network.relays if relay.bucket_binds)
    third = usable_third(network)
    request_bytes = len(network.clients_of("web")) * asked_at_once(web)
    clients = [client for kind in KINDS for client in network.clients_of(kind)]
    unloaded_s = unloaded_download_s(clients, round_trip_s, web.mean_response) if clients else 0.0
    ceiling = request_bytes / web.think.mean_s
    crowded_s = request_bytes / third - web.think.mean_s
    return Regime(
        third_of_capacity_bytes_per_s=third,
        demand_ceiling_bytes_per_s=round(ceiling),
        unloaded_download_s=round(unloaded_s, 2),
        crowded_download_s=round(crowded_s, 2) if crowded_s >= unloaded_s else None,
        bucket_bound_share=round(bound / usable, 4),
        warning=_warning(network, ceiling / third),
    )


def _round_trip_s(rtt_ms: dict[str, NDArray[np.float64]]) -> float:
    """The time from a client over three relays to a server and back, each link with its median."""
    medians = {name: float(np.median(values)) / 1000 for name, values in rtt_ms.items() if len(values)}
    links = {"client to relay": 1, "relay to relay": 2, "relay to server": 1}
    return sum(count * medians.get(name, 0.0) for name, count in links.items())


def _warning(network: Network, ratio: float) -> str | None:
    if ratio > HOPELESS_ABOVE:
        return (
            f"hopeless: web clients ask for {ratio:.1f} times what the relays can carry; pages take several "
            "times as long as the pauses between them. Fewer clients (load) or more relays would help."
        )
    if ratio < IDLE_BELOW and not network.clients_of("bulk"):
        return f"idle: web clients ask for {ratio:.2f} of what the relays can carry, and nobody else does."
    if ratio < IDLE_BELOW:
        return f"nearly idle: web clients ask for {ratio:.2f} of what the relays can carry."
    return None


def print_description(description: Description, console: Console | None = None) -> None:
    """Print ``description`` to ``console``, standard output by default."""
    console = console or Console(highlight=False)
    if text := overload_text([description]):
        console.print(text, soft_wrap=True)
    console.print(", ".join(f"{count} {kind}" for kind, count in description.hosts.items()))
    console.print(_capacity_table(description))
    console.print(_quantile_table(description))
    for line in (*_load_lines(description), *_regime_lines(description.regime)):
        console.print(line, soft_wrap=True)


def overload_text(descriptions: Sequence[Description]) -> str | None:
    """One sentence on overloaded networks, with their means; None if no network is overloaded."""
    regimes = [each.regime for each in descriptions if each.regime.crowded_download_s is not None]
    if not regimes:
        return None
    demand = fmean(regime.demand_ceiling_bytes_per_s for regime in regimes) / MIB
    third = fmean(regime.third_of_capacity_bytes_per_s for regime in regimes) / MIB
    slow_s = fmean(regime.crowded_download_s or 0 for regime in regimes)
    fast_s = fmean(regime.unloaded_download_s for regime in regimes)
    count = len(descriptions)
    which = "The network is" if count == 1 else f"{len(regimes)} of {count} networks are"
    return (
        f"{which} overloaded {demand / third:.1f}-fold: web clients ask for {demand:.1f} MiB/s, relays can "
        f"carry {third:.1f} MiB/s over three hops, so that even without other clients a web download takes "
        f"{slow_s:.1f} s on average instead of {fast_s:.1f} s."
    )


def _load_lines(description: Description) -> list[str]:
    load = description.load
    steady = [kind for kind, offered in load.items() if not offered.pauses]
    alone = f"; {' and '.join(steady)} clients never pause, and count with what they would fetch alone"
    usable = sum(each.usable_bytes_per_s for each in description.positions.values())
    shares = ", ".join(f"{kind} {offered.over_third:.2f}" for kind, offered in load.items())
    return [
        f"load, offered over the capacity of three hops: {shares}{alone if steady else ''}",
        written_text(load, usable),
    ]


def written_text(load: Mapping[str, Offered], usable_bytes_per_s: int) -> str:
    """What relays write to give all clients all that they ask for."""
    if not load:
        return "no client asks for anything"
    # The way to an onion service has twice as many relays.
    written = RELAY_BYTES_PER_CLIENT_BYTE * sum(
        offered.bytes_per_s * (2 if kind == ONION else 1) for kind, offered in load.items()
    )
    return (
        f"to give all clients all of it, relays would write {written * 8 / 1e9:.3g} Gbit/s, "
        f"{written / usable_bytes_per_s:.2f} of what they can"
    )


def _capacity_table(description: Description) -> Table:
    table = Table("position", "relays", "link MiB/s", "usable MiB/s", "weight", title="Capacity")
    for position, capacity in description.positions.items():
        table.add_row(
            position,
            str(capacity.relays),
            f"{capacity.capacity_bytes_per_s / MIB:.2f}",
            f"{capacity.usable_bytes_per_s / MIB:.2f}",
            f"{100 * capacity.weight_share:.1f} %",
        )
    return table


def _quantile_table(description: Description) -> Table:
    table = Table("", *[f"p{100 * level:g}" for level in LEVELS], title="Quantiles")
    for name, values in description.quantiles.items():
        table.add_row(name, *[f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in values])
    return table


def _regime_lines(regime: Regime) -> list[str]:
    third, ceiling = regime.third_of_capacity_bytes_per_s / MIB, regime.demand_ceiling_bytes_per_s / MIB
    lines = [
        f"capacity over 3 hops: {third:.2f} MiB/s; web clients ask for at most {ceiling:.2f} MiB/s "
        f"({ceiling / third:.2f} of it), as if their downloads took no time; on an empty network one takes "
        f"{regime.unloaded_download_s:.1f} s",
        f"the bucket binds for {100 * regime.bucket_bound_share:.0f} % of the capacity, "
        "the link for the rest",
    ]
    return [*lines, f"warning: {regime.warning}"] if regime.warning else lines
