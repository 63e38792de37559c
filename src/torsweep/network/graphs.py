"""Graphs of networks for and from other programs: latencies read from GML, a network written as GraphML.

In: a file (Shadow's, or the Atlas that tornettools runs on) whose edges have a ``latency`` of one direction;
or a network with its latencies. Out: :class:`GraphLatencies`; or, for Gephi, Cytoscape, networkx and igraph,
an undirected graph: a node for each host with its kind and rates, an edge with the RTT for each pair.

An edge is the path between its ends, as tornettools has Shadow take it (``use_shortest_path: false``); two
nodes without one are as far apart as the shortest path over edges. An RTT is the way there and the way back,
which differ where edges have a direction. ``jitter`` and ``packet_loss`` are left out.

``networkinfo_staging.gml``, which ``tornettools stage`` writes, has the Atlas's nodes and none of its edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from torsweep.errors import InputError
from torsweep.formats.graphs import Attribute, Gml, document, node_line, read_gml
from torsweep.network.exact import Floats
from torsweep.network.model import Host, Latencies, Network
from torsweep.ranges import MOST_RTT_US

_MICROSECONDS_PER = {
    word: microseconds
    for microseconds, words in (
        (0.001, "ns nanosecond nanoseconds"),
        (1.0, "us μs microsecond microseconds"),
        (1000.0, "ms millisecond milliseconds"),
        (1_000_000.0, "s sec secs second seconds"),
    )
    for word in words.split()
}
"""By the units that Shadow knows, up to seconds."""
MOST_GRAPH_NODES = 5_000
"""A graph of so many nodes has 1.5 GB if there is an edge between any two; the Atlas has less than half as
many nodes."""

_ENDS = ("source", "target")
_NO_EDGES = "holds nodes and no edge: tornettools stages the nodes of its graph alone"
_WHOLE_GRAPH = "the graph that was staged, atlas_v201801.shadow_v2.gml.xz of tmodel"
_LATENCY = r"^([0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,2})?)\s*([a-zμ]*)$"


@dataclass(frozen=True)
class GraphLatencies:
    """``rtt_us`` (nodes, nodes), NaN on the diagonal and where no path leads; ``by_path``: the share of
    pairs that have no edge in one of the directions, and take the shortest path."""

    rtt_us: Floats
    by_path: float


def read_graph(file: Path, unit: str | None) -> GraphLatencies:
    """The latencies of the graph in ``file``; ``unit`` is that of numbers without one.

    Raises InputError naming the edge that is wrong, or when there is none.
    """
    graph = read_gml(file, ["id"], [*_ENDS, "latency"])
    if len(graph.nodes) > MOST_GRAPH_NODES:
        accepted = f"at most {MOST_GRAPH_NODES:,}"
        raise InputError("too many nodes", file=file, value=len(graph.nodes), accepted=accepted)
    if graph.edges.is_empty():
        raise InputError(_NO_EDGES, file=file, accepted=_WHOLE_GRAPH)
    direct = _one_way(graph, unit, file)
    missing = ~np.isfinite(direct)
    np.fill_diagonal(missing, False)
    if missing.any():
        reached = shortest_path(np.where(np.isfinite(direct), direct, 0.0))
        direct = np.where(missing, reached, direct)
    rtt_us = direct + direct.T
    rtt_us[~np.isfinite(rtt_us)] = np.nan
    np.fill_diagonal(rtt_us, np.nan)
    pairs = len(direct) * (len(direct) - 1)
    return GraphLatencies(rtt_us, float((missing | missing.T).sum() / max(pairs, 1)))


def _one_way(graph: Gml, unit: str | None, file: Path) -> Floats:
    """Latencies of the edges, microseconds from row to column; infinite where there is none."""
    one, other = _ends(graph, file)
    latency_us = _latencies(graph.edges, unit, file)
    nodes = len(graph.nodes)
    cells = one * nodes + other if graph.directed else np.minimum(one, other) * nodes + np.maximum(one, other)
    again = ~pl.Series(cells).is_first_distinct()
    if again.any():
        raise InputError("stands twice", file=file, key=_name(graph.edges, int(again.arg_max() or 0)))
    matrix = np.full((nodes, nodes), np.inf)
    matrix[one, other] = latency_us
    if not graph.directed:
        matrix[other, one] = latency_us
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _ends(graph: Gml, file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of each edge's source and target among the nodes."""
    places = graph.nodes.select("id", place=pl.int_range(pl.len()))
    ids = places["id"]
    if ids.null_count() or ids.is_duplicated().any():
        value = "none" if ids.null_count() else ids.filter(ids.is_duplicated())[0]
        raise InputError("is no id of a node's own", file=file, key="id", value=value)
    ends = []
    for end in _ENDS:
        joined = graph.edges.select(id=end).join(places, on="id", how="left", maintain_order="left")["place"]
        if joined.null_count():
            wrong = int(joined.is_null().arg_max() or 0)
            value = graph.edges[end][wrong]
            raise InputError("is no node", file=file, key=f"{end} of edge {wrong + 1}", value=value)
        ends.append(joined.to_numpy())
    return ends[0], ends[1]


def _latencies(edges: pl.DataFrame, unit: str | None, file: Path) -> Floats:
    """Latencies in microseconds. Raises InputError for one missing, out of range or without unit."""
    parts = edges.select(
        number=pl.col("latency").str.extract(_LATENCY, 1).cast(pl.Float64),
        unit=pl.col("latency").str.extract(_LATENCY, 2),
    ).with_columns(unit=pl.when(pl.col("unit") == "").then(pl.lit(unit)).otherwise("unit"))
    scale = pl.col("unit").replace_strict(_MICROSECONDS_PER, default=None, return_dtype=pl.Float64)
    latency_us = parts.select(pl.col("number") * scale).to_series()
    fit = latency_us.is_between(0, MOST_RTT_US, closed="right").fill_null(False)
    if not fit.all():
        wrong = int((~fit).arg_max() or 0)
        accepted = "such as 12.5 ms, above 0 and at most a minute"
        if parts["unit"][wrong] is None and parts["number"][wrong] is not None:
            accepted = "one with a unit, such as 12.5 ms, or --unit"
        value = edges["latency"][wrong]
        name = _name(edges, wrong)
        raise InputError("has no latency", file=file, key=name, value=value or "none", accepted=accepted)
    return latency_us.to_numpy()


def _name(edges: pl.DataFrame, edge: int) -> str:
    return f"edge from {edges['source'][edge]} to {edges['target'][edge]}"


GRAPH_SIGNATURE = "torsweep-network-graph"
"""A text in the first lines of each file, by which the command recognises its own files."""

MOST_EDGES = 10_000_000
"""A document of so many has 700 MB."""
MOST_HOSTS = 20_000
"""To find the nearest of so many takes about a minute and a half, and time grows with their square."""
_BLOCK_CELLS = 1_000_000

_RATES = ("rate_bytes_per_s", "burst_bytes", "capacity_bytes_per_s", "consensus_weight", "down_bytes_per_s",
            "up_bytes_per_s")  # fmt: skip
_ATTRIBUTES = (
    Attribute("node", "kind"),
    Attribute("node", "position"),
    *(Attribute("node", name, "long") for name in _RATES),
    Attribute("edge", "rtt_us", "long"),
)


def network_graph(network: Network, latencies: Latencies, nearest: int | None = None) -> str:
    """The document of ``network``, whose hosts are apart as ``latencies`` says.

    With ``nearest``, only the edges from each host to that many of the others, those of the shortest RTTs.
    Raises InputError when there would be more than ``MOST_EDGES``, or there are more than ``MOST_HOSTS``.
    """
    hosts = network.hosts
    one, other = _pairs(latencies, nearest)
    names = np.array([host.name for host in hosts])
    rtt_us = latencies.between(one, other)
    ends = pl.DataFrame({"one": names[one], "other": names[other], "rtt_us": rtt_us})
    line = '<edge source="{}" target="{}"><data key="rtt_us">{}</data></edge>'
    edges = ends.select(pl.format(line, "one", "other", "rtt_us"))
    remark = f"{GRAPH_SIGNATURE}: seed {network.seed}, configuration {network.config_sha256}"
    nodes = (node_line(host.name, _attributes(host)) for host in hosts)
    return document(_ATTRIBUTES, "undirected", [*nodes, *edges.to_series()], remark)


def _attributes(host: Host) -> dict[str, object]:
    values = host.model_dump(mode="json")
    kind = {"kind": values.get("kind") or type(host).__name__.lower()}
    return kind | {key: values[key] for key in ("position", *_RATES) if key in values}


def _pairs(latencies: Latencies, nearest: int | None) -> tuple[NDArray[np.integer], ...]:
    """The ends of the edges, the lower one first, in order."""
    nodes = latencies.hosts
    if nodes > MOST_HOSTS:
        raise InputError("too many for a graph", key="hosts", value=nodes, accepted=f"at most {MOST_HOSTS:,}")
    count = nodes - 1 if nearest is None else min(nearest, nodes - 1)
    if nodes * count > 2 * MOST_EDGES:
        problem, accepted = "too many edges for a document", f"at most {2 * MOST_EDGES // nodes}"
        raise InputError(problem, key="--nearest", value=count, accepted=accepted)
    if count == nodes - 1:
        return np.triu_indices(nodes, 1)
    step = max(1, _BLOCK_CELLS // nodes)
    chosen = []
    for first in range(0, nodes, step):
        rtt_us = latencies.rows(first, min(first + step, nodes))
        here = np.arange(first, first + len(rtt_us))
        rtt_us[here - first, here] = np.iinfo(np.int32).max
        # Ties go to the host that comes first.
        others = np.argsort(rtt_us, axis=1, kind="stable")[:, :count]
        ends = np.repeat(here, count), others.ravel()
        chosen.append(np.minimum(*ends) * nodes + np.maximum(*ends))
    return np.divmod(np.unique(np.concatenate(chosen)), nodes)
