"""Latencies from graphs in GML. networkx is the judge."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from torsweep.errors import InputError
from torsweep.formats import graphs
from torsweep.formats.graphs import read_gml
from torsweep.network.cli import latency_app
from torsweep.network.graphs import read_graph
from torsweep.network.latency import MODEL_FILE, read_measured
from torsweep.network.latency_import import IMPORT_FILE, import_latency


def gml_text(graph: nx.Graph) -> str:
    written = io.BytesIO()
    nx.write_gml(graph, written)
    return written.getvalue().decode()


def atlas(directed: bool, share: float, hosts: int = 14) -> nx.Graph:
    """A graph with the attributes that the Atlas's has, and a share of the edges between any two hosts."""
    draw = random.Random(f"{directed} {share}")
    graph = nx.DiGraph() if directed else nx.Graph()
    for host in range(hosts):
        node = 7 * host + 3
        graph.add_node(node, label=f"node {node} [source 3", ip_address=f"10.0.0.{host}", country_code="US")
    for one in graph:
        for other in graph:
            ring = (other - one) % (7 * hosts) == 7
            if one != other and (ring or draw.random() < share) and not graph.has_edge(one, other):
                latency = f"{draw.uniform(5, 150):.6f} ms"
                graph.add_edge(one, other, label="target 99", latency=latency, packet_loss=0.0)
        graph.add_edge(one, one, latency="1 ms", packet_loss=0.0)
    return graph


def as_told(graph: nx.Graph) -> np.ndarray:
    """RTTs in microseconds by networkx: the edges where there are, shortest paths where not."""
    for _, _, data in graph.edges(data=True):
        data["us"] = float(data["latency"].split()[0]) * 1000
    paths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="us"))
    one_way = [
        [graph[a][b]["us"] if graph.has_edge(a, b) else paths[a].get(b, np.nan) for b in graph] for a in graph
    ]
    rtt_us = np.array(one_way) + np.array(one_way).T
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_latencies_are_those_that_networkx_finds(tmp_path: Path, directed: bool, share: float) -> None:
    graph = atlas(directed, share)
    file = tmp_path / "atlas.gml"
    file.write_text(gml_text(graph))
    found = read_graph(file, None)
    np.testing.assert_allclose(found.rtt_us, as_told(nx.read_gml(file, label="id")), rtol=1e-12)
    assert (found.by_path == 0) == (share == 1)


@pytest.mark.parametrize("characters", [700, 5_000])
def test_a_file_is_read_in_pieces_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    file = tmp_path / "atlas.gml.gz"
    file.write_bytes(gzip.compress(gml_text(atlas(True, 0.5)).encode()))
    whole = read_graph(file, None).rtt_us
    monkeypatch.setattr(graphs, "CHUNK_CHARACTERS", characters)
    np.testing.assert_array_equal(read_graph(file, None).rtt_us, whole)


def test_the_layout_of_the_lines_and_lists_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "one_line.gml"
    file.write_text(
        'Creator "me"\ngraph [ comment "directed" directed 1 node [ id 4 graphics [ x 1 id 9 ] ] node [id 2]'
        ' edge [ label "source 2 ]" source 4 target 2 latency 10 ] edge[source 2 target 4 latency "30 us"]]'
    )
    assert read_graph(file, "ms").rtt_us[0, 1] == 10_030
    found = read_gml(file, ["id"], ["source"])
    assert (found.directed, found.nodes["id"].to_list()) == (True, ["4", "2"])


def test_a_graph_is_imported_and_says_what_took_paths(tmp_path: Path) -> None:
    graph, file, out = atlas(False, 0.7), tmp_path / "atlas.gml", tmp_path / "out"
    file.write_text(gml_text(graph))
    said = CliRunner().invoke(latency_app, [str(file), "--format", "gml", "--out", str(out)])
    assert said.exit_code == 0, said.output
    pairs = graph.number_of_nodes() * (graph.number_of_nodes() - 1) / 2
    without = 1 - (graph.number_of_edges() - graph.number_of_nodes()) / pairs
    assert f"by the shortest path: {100 * without:.2f} % of the pairs have no edge" in said.stdout
    assert json.loads((out / IMPORT_FILE).read_text())["source"]["format"] == "gml"
    np.testing.assert_allclose(
        read_measured(out / MODEL_FILE)[0, 1:], as_told(graph)[0, 1:], atol=0.5, rtol=0
    )


EDGE = 'edge [ source 1 target 2 latency "5 ms" ]'
NODES = "node [ id 1 ] node [ id 2 ]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no node"),
        ("graph [\n]\n", "holds no node"),
        (f"graph [ {NODES} ]", "holds nodes and no edge.*accepted: the graph that was staged"),
        (f"graph [ {NODES} {EDGE}", "is cut off"),
        (f"graph [ {NODES} {EDGE[:-2]}", "is cut off"),
        (f"graph [ {NODES} edge {{ source 1 }} {EDGE} ]", "is no GML, got 'edge {"),
        (f"graph [ directed yes {NODES} {EDGE} ]", "directed: is no direction, got 'yes'"),
        (f"graph [ {NODES} node [ id 2 ] {EDGE} ]", "id: is no id of a node's own, got '2'"),
        (f"graph [ {NODES} node [ label 2 ] {EDGE} ]", "id: is no id of a node's own, got 'none'"),
        (f"graph [ {NODES} {EDGE.replace('2', '3')} ]", "target of edge 1: is no node, got '3'"),
        (f"graph [ {NODES} {EDGE} {EDGE} ]", "edge from 1 to 2: stands twice"),
        (f"graph [ {NODES} {EDGE.replace('5 ms', 'soon')} ]", "edge from 1 to 2: has no latency, got 'soon'"),
        (f"graph [ {NODES} {EDGE.replace('5 ms', '0 ms')} ]", "above 0 and at most a minute"),
        (f"graph [ {NODES} {EDGE.replace('5 ms', '61 s')} ]", "above 0 and at most a minute"),
        (f"graph [ {NODES} {EDGE.replace('5 ms', '5')} ]", "one with a unit, such as 12.5 ms, or --unit"),
        (f"graph [ {NODES} {EDGE.replace('latency', 'delay')} ]", "has no latency, got 'none'"),
        (f"graph [ {NODES} {EDGE} ]", "too few hosts"),
    ],
)
def test_bad_graphs_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "graph.gml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        import_latency(file, "gml", None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_latencies_of_edges_are_of_one_direction_anyway(tmp_path: Path) -> None:
    file = tmp_path / "graph.gml"
    file.write_text(gml_text(atlas(False, 1.0)))
    with pytest.raises(InputError, match="--one-way: says nothing about GML"):
        import_latency(file, "gml", None, tmp_path / "out", one_way=True)
    with pytest.raises(InputError, match="--unit: no such unit, got 'min'"):
        import_latency(file, "gml", "min", tmp_path / "out")
    with pytest.raises(InputError, match="--unit: no such unit, got 'none'"):
        import_latency(file, "matrix", None, tmp_path / "out")
