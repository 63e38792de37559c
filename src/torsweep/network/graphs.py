"""Latencies read from a network's graph in GML.

In: a file (Shadow's, or the Atlas that tornettools runs on) whose edges have a ``latency`` of one direction.
Out: :class:`GraphLatencies`.

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
from torsweep.formats.graphs import Gml, read_gml
from torsweep.network.exact import Floats
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
