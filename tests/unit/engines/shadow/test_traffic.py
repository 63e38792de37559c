"""TGen's action graphs: every download and pause drawn beforehand."""

from __future__ import annotations

import io

import networkx as nx

from torsweep.config.traffic import MEASURING_TRAFFIC
from torsweep.engines.draws import MOST_DOWNLOADS, pause_ns, response_bytes, server_index
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.tgen import read_graphs
from torsweep.engines.shadow.traffic import User, client_graph, server_graph
from torsweep.network.model import Network


def _names(network: Network) -> list[str]:
    return [server.name for server in network.servers]


def _parse(text: str) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """Vertices and arrows as networkx reads them."""
    graph = nx.read_graphml(io.BytesIO(text.encode()))
    assert graph.is_directed()
    arrows = {vertex: list(graph.successors(vertex)) for vertex in graph if graph.out_degree(vertex)}
    return dict(graph.nodes(data=True)), arrows


def _graph(run: RunSpec, network: Network, kind: str = "web", number: int = 0):
    """Vertices and arrows of the graph of one client."""
    return _parse(client_graph(run, [User(number, "client")], kind, _names(network)))


def _with(run: RunSpec, kind: str, **changes: object) -> RunSpec:
    traffic = {**run.traffic, kind: run.traffic[kind].model_copy(update=changes)}  # type: ignore[index]
    return run.model_copy(update={"traffic": traffic})


def test_a_web_client_alternates_downloads_and_the_pauses_drawn_for_it(run, network):
    vertices, arrows = _graph(run, network, "web", 1)
    assert [arrows[name] for name in ("start", "stream1", "pause1")] == [["stream1"], ["pause1"], ["stream2"]]
    pause = pause_ns(run.traffic["web"], 7, 1, 1)
    assert vertices["pause1"]["time"] == f"{pause // 1000} microseconds"
    assert vertices["stream1"]["peers"] == f"server{server_index(7, 1, 1, 2) + 1}:80"
    assert vertices["start"].items() >= {"sendsize": "400 bytes", "recvsize": "307200 bytes"}.items()


def test_sizes_from_a_table_are_those_of_each_download(run, network, tmp_path):
    drawing = _with(run, "web", response_quantiles=((0, 1_000), (1_000_000, 9_000)))
    graph = client_graph(drawing, [User(1, "client")], "web", _names(network))
    vertices, _ = _parse(graph)
    sizes = [response_bytes(drawing.traffic["web"], 7, 1, number) for number in (1, 2)]
    assert [vertices[f"stream{n + 1}"]["recvsize"] for n in (0, 1)] == [f"{size} bytes" for size in sizes]
    file = tmp_path / "tgen.graphml"
    file.write_text(graph)
    assert read_graphs([Log("web2", file)]).downloads["bytes_wanted"].to_list()[:2] == sizes


def test_a_page_is_its_first_object_then_chains_of_the_others_then_a_pause(run, network):
    whole = {"page_objects": ((0, 6), (1_000_000, 6)), "under_way_at_start": False}
    pages = _with(run, "web", **whole, parallel_streams=2)
    web = pages.traffic["web"]
    vertices, arrows = _graph(pages, network, "web", 1)
    page = {"start": ["stream1-1"], "stream1-1": ["stream1-2", "stream1-3"]}
    page |= {f"stream1-{which}": [f"stream1-{which + 2}"] for which in (2, 3, 4)}
    page |= {"stream1-5": ["pause1all"], "stream1-6": ["pause1all"]}
    page |= {"pause1all": ["pause1"], "pause1": ["stream2-1"]}
    assert {name: sorted(arrows[name]) for name in page} == page
    assert vertices["pause1all"] == {}
    assert vertices["pause1"]["time"] == f"{pause_ns(web, 7, 1, 1) // 1000} microseconds"
    assert len({vertices[f"stream1-{which}"]["peers"] for which in range(1, 7)}) == 1
    alone = _with(run, "web", page_objects=((0, 1), (1_000_000, 1)), parallel_streams=2)
    _, arrows = _graph(alone, network, "web", 1)
    assert arrows["stream1-1"] == ["pause1all"]


def test_the_pauses_of_a_web_client_fill_the_run(run, network):
    vertices, _ = _graph(run, network)
    pauses_us = [int(v["time"].split()[0]) for name, v in vertices.items() if name.startswith("pause")]
    assert sum(pauses_us) >= run.duration_ns // 1000 - len(pauses_us)
    assert sum(pauses_us[:-1]) < run.duration_ns // 1000


def test_a_bulk_client_has_no_pauses_and_begins_anew(run, network):
    vertices, arrows = _graph(run, network, "bulk", 2)
    assert not [name for name in vertices if name.startswith("pause")]
    assert arrows[f"stream{MOST_DOWNLOADS}"] == ["stream1"]


def test_a_slow_download_is_never_given_up_unless_the_run_says_so(run, network):
    start = _graph(run, network)[0]["start"]
    assert (start["timeout"], start["stallout"], start["heartbeat"]) == ("0 microseconds", "0", "0")
    start = _graph(_with(run, "web", timeout_ns=5_000_000_000), network)[0]["start"]
    # TGen looks at the limit when it beats.
    assert (start["timeout"], start["heartbeat"]) == ("5000000 microseconds", "1 second")


def test_parallel_chains_take_turns_at_the_numbers(run, network):
    _, arrows = _graph(_with(run, "bulk", parallel_streams=3), network, "bulk", 2)
    assert arrows["start"] == ["stream1", "stream2", "stream3"]
    assert arrows["stream1"] == ["stream4"]


def test_isolated_streams_each_have_a_name_of_their_own(run, network):
    isolated = _with(run, "web", streams_per_circuit_isolation=True)
    vertices, _ = _graph(isolated, network)
    names = [v["socksusername"] for v in vertices.values() if "socksusername" in v]
    assert len(names) == len(set(names)) == sum(name.startswith("stream") for name in vertices)


def test_a_server_listens_and_does_nothing_else():
    vertices, arrows = _parse(server_graph())
    assert list(vertices) == ["start"]
    assert vertices["start"]["serverport"] == "80"
    assert not arrows


def test_perf_clients_and_a_run_that_asks_for_progress_log_how_far_each_download_is(run, network):
    traffic = {**run.traffic, "perf_50kib": RunTraffic.of(MEASURING_TRAFFIC["perf_50kib"])}
    measured = run.model_copy(update={"traffic": traffic})
    perf, web = (_graph(measured, network, kind)[0]["start"] for kind in ("perf_50kib", "web"))
    assert (perf["sendsize"], perf["recvsize"]) == ("1000 bytes", "51200 bytes")
    assert (perf["timeout"], perf["loglevel"]) == ("15000000 microseconds", "info")
    asking = run.model_copy(update={"tables": RunTables(progress=True)})
    asked = _graph(asking, network)[0]["start"]
    assert (web["loglevel"], asked["loglevel"]) == ("message", "info")


def test_clients_of_one_tor_have_steps_and_circuits_of_their_own(run, network, tmp_path):
    users = [User(1, "web2"), User(3, "web4", after_ns=2_500_000_000)]
    graph = client_graph(run, users, "web", _names(network))
    vertices, arrows = _parse(graph)
    assert sorted(arrows["start"]) == ["pause0@web4", "stream1@web2"]
    assert arrows["pause0@web4"] == ["stream1@web4"]
    assert vertices["pause0@web4"] == {"time": "2500000 microseconds"}
    for user in users:
        step = vertices[f"stream1@{user.name}"]
        assert (step["socksusername"], step["sockspassword"]) == (user.name, user.name)
        assert step["peers"] == f"server{server_index(7, user.number, 1, 2) + 1}:80"
    file = tmp_path / "tgen.graphml"
    file.write_text(graph)
    first = read_graphs([Log("web2", file)]).first.sort("vertex")
    assert first.rows() == [(0, 0, "stream1@web2"), (0, 2_500_000, "stream1@web4")]
