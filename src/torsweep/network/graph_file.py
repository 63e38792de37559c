"""A network as a graph for other programs to read: Gephi, Cytoscape, networkx, igraph.

In: a network and its RTT matrix. Out: GraphML, an undirected graph: a node for each host with its kind and
rates, and an edge with the RTT for each pair of hosts, or only between each host and those nearest to it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.formats.graphs import Attribute, document, node_line
from torsweep.network.model import Authority, Client, Network, Relay, Server

SIGNATURE = "torsweep-network-graph"
"""A text in the first lines of each file, by which the command recognises its own files."""

Host = Relay | Authority | Client | Server

_NUMBERS = ("rate_bytes_per_s", "burst_bytes", "capacity_bytes_per_s", "consensus_weight", "down_bytes_per_s",
            "up_bytes_per_s")  # fmt: skip
_ATTRIBUTES = (
    Attribute("node", "kind"),
    Attribute("node", "position"),
    *(Attribute("node", name, "long") for name in _NUMBERS),
    Attribute("edge", "rtt_us", "long"),
)


def network_graph(network: Network, rtt_us: NDArray[np.int32], nearest: int | None = None) -> str:
    """The document of ``network`` with RTTs ``rtt_us`` (nodes, nodes) in microseconds.

    With ``nearest``, only the edges from each host to that many of the others, those of the shortest RTTs.
    """
    hosts: list[Host] = [*network.relays, *network.authorities, *network.clients, *network.servers]
    one, other = _pairs(rtt_us, nearest)
    names = np.array([host.name for host in hosts])
    edges = pl.DataFrame({"one": names[one], "other": names[other], "rtt_us": rtt_us[one, other]}).select(
        pl.format(
            '<edge source="{}" target="{}"><data key="rtt_us">{}</data></edge>', "one", "other", "rtt_us"
        )
    )
    remark = f"{SIGNATURE}: seed {network.seed}, configuration {network.config_sha256}"
    nodes = (node_line(host.name, _attributes(host)) for host in hosts)
    return document(_ATTRIBUTES, "undirected", [*nodes, *edges.to_series()], remark)


def _attributes(host: Host) -> dict[str, object]:
    values = host.model_dump(mode="json")
    kind = {"kind": values.get("kind") or type(host).__name__.lower()}
    told = {key: values[key] for key in ("position", *_NUMBERS) if key in values}
    return kind | told


def _pairs(rtt_us: NDArray[np.int32], nearest: int | None) -> tuple[NDArray[np.integer], ...]:
    """The ends of the edges, the lower one first, in order."""
    nodes = len(rtt_us)
    if nearest is None or nearest >= nodes - 1:
        return np.triu_indices(nodes, 1)
    apart = np.array(rtt_us, dtype=np.int64)
    np.fill_diagonal(apart, np.iinfo(np.int64).max)
    # Ties go to the host that comes first.
    others = np.argsort(apart, axis=1, kind="stable")[:, :nearest]
    chosen = np.zeros((nodes, nodes), dtype=bool)
    chosen[np.arange(nodes)[:, np.newaxis], others] = True
    return np.nonzero(np.triu(chosen | chosen.T, 1))
