"""The hosts whose packets a simulation captures.

In: what a run traces, and its network. Out: names of hosts.
"""

from __future__ import annotations

from torsweep.config.tracing import Tracing
from torsweep.network.model import Network


def captured_hosts(tracing: Tracing | None, network: Network) -> list[str]:
    """All hosts that may be on the way of a followed download; no host if no download is followed, or if no
    cells are traced that lead from host to host."""
    if tracing is None or not tracing.downloads or not tracing.hosts:
        return []
    clients = [client.name for client in network.clients]
    return [*tracing.hosts, *clients, *(server.name for server in network.servers)]
