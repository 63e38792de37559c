"""The configuration of the link emulator: hosts with their addresses and rates, queues, TCP.

In: a network and the TCP of an era. Out: the object that ``linkem run`` reads (docs/linkem.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torsweep.engines.addresses import address
from torsweep.engines.emulation.tcp import TcpEra
from torsweep.network.model import Network

AUTHORITY_LINK_BYTES_PER_S = 12_500_000
"""100 Mbit/s: networks state no rate for authorities, and theirs should hold nobody up."""

MTU_BYTES = 1500

UP_QUEUE_PACKETS = 1000
"""Linux's own default for an Ethernet device (txqueuelen)."""

DOWN_QUEUE_BYTES = 50 * MTU_BYTES
"""The default queue of a dummynet pipe, from which ModelNet is made: 50 slots (ipfw(8))."""


def links_document(
    network: Network,
    latency: Path,
    tcp: TcpEra,
    sysctls: dict[str, str],
    seed: int,
    statistics: Path,
    recorded: tuple[Path, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The object; ``latency`` is latency.npy, ``statistics`` where the table of links is to go.

    ``recorded`` names the table of packets, and hosts all of whose connections are recorded there.
    """
    return {
        "format": "torsweep-links",
        "format_version": 1,
        "hosts": list(_hosts(network)),
        "latency": str(latency),
        "mtu_bytes": MTU_BYTES,
        "up_queue": {"packets": UP_QUEUE_PACKETS},
        "down_queue": {"kind": "droptail", "bytes": DOWN_QUEUE_BYTES},
        "loss": 0.0,
        "seed": seed,
        "congestion_control": tcp.congestion_control,
        "initial_window_segments": tcp.initial_window_segments,
        "sysctls": sysctls,
        "statistics": str(statistics),
        "packets": {"file": str(recorded[0]), "hosts": list(recorded[1])} if recorded else None,
    }


def _hosts(network: Network) -> Iterable[dict[str, Any]]:
    for relay in network.relays:
        yield _host(relay.name, relay.node, relay.capacity_bytes_per_s, relay.capacity_bytes_per_s)
    for authority in network.authorities:
        rate = AUTHORITY_LINK_BYTES_PER_S
        yield _host(authority.name, authority.node, rate, rate)
    for client in network.clients:
        yield _host(client.name, client.node, client.up_bytes_per_s, client.down_bytes_per_s)
    for server in network.servers:
        yield _host(server.name, server.node, server.up_bytes_per_s, server.down_bytes_per_s)


def _host(name: str, node: int, up: int, down: int) -> dict[str, Any]:
    return {
        "name": name,
        "address": address(node),
        "node": node,
        "up_bytes_per_s": up,
        "down_bytes_per_s": down,
    }
