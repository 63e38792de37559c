"""TGen's action graphs: what a client downloads, from where, and how long it pauses in between.

In: a run and one of its clients. Out: GraphML. Every download and pause is an action of its own, drawn
beforehand: all variants ask for the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from torsweep.config.traffic import PERF_KINDS, AnyKind
from torsweep.engines.addresses import SERVER_PORT, SOCKS_PORT
from torsweep.engines.draws import PAGE, object_count, pause_ns, response_bytes, server_index
from torsweep.engines.run_spec import RunSpec, RunTraffic
from torsweep.engines.shadow.page_steps import page_end, page_object
from torsweep.formats.graphs import Attribute, document, node_line
from torsweep.network.model import Server

MOST_DOWNLOADS = 200
"""Downloads or pages of a client without pauses; after the last one it begins with the first one again."""

Vertices = dict[str, dict[str, str]]
"""The attributes of each vertex."""

_ATTRIBUTES = (
    "serverport", "socksproxy", "loglevel", "heartbeat", "peers", "sendsize", "recvsize",
    "timeout", "stallout", "time", "socksusername", "sockspassword",
)  # fmt: skip


def server_graph() -> str:
    """The graph of a server: it listens, and answers whatever a client asks for."""
    start = {"serverport": str(SERVER_PORT), "loglevel": "message", "heartbeat": "0", "stallout": "0"}
    return graphml({"start": start}, [])


def client_graph(run: RunSpec, seed: int, client: int, kind: AnyKind, servers: Sequence[Server]) -> str:
    """The graph of the client of ``kind`` with number ``client`` among the network's.

    Its downloads are numbered as they would be one after the other; ``parallel_streams`` chains take
    turns. A chain ends when its pauses alone fill the run, or at :data:`MOST_DOWNLOADS`, and then begins
    anew.
    """
    traffic = run.traffic[kind]
    vertices: Vertices = {
        "start": {
            "socksproxy": f"localhost:{SOCKS_PORT}",
            # At level info TGen reports at each read how far a download is; goodput is computed from these
            # reports.
            "loglevel": "info" if run.tables.progress or kind in PERF_KINDS else "message",
            # TGen checks time limits only at its heartbeats, and each heartbeat costs a line and a wake-up.
            "heartbeat": "1 second" if traffic.timeout_ns is not None else "0",
            "sendsize": f"{traffic.request_bytes} bytes",
            "recvsize": f"{traffic.response_bytes} bytes",
            "timeout": f"{(traffic.timeout_ns or 0) // 1000} microseconds",
            # Never give up a slow stream: its slowness is what is measured.
            "stallout": "0",
        }
    }
    edges: list[tuple[str, str]] = []
    add = _add_downloads if traffic.page_objects is None else _add_pages
    add(run, seed, client, traffic, servers, vertices, edges)
    return graphml(vertices, edges)


def _add_downloads(
    run: RunSpec,
    seed: int,
    client: int,
    traffic: RunTraffic,
    servers: Sequence[Server],
    vertices: Vertices,
    edges: list[tuple[str, str]],
) -> None:
    """The chains of downloads and pauses."""
    for chain in range(traffic.parallel_streams):
        previous, first, paused_ns, number = "start", "", 0, chain + 1
        while paused_ns < run.duration_ns and number <= MOST_DOWNLOADS * traffic.parallel_streams:
            name = f"stream{number}"
            server = servers[server_index(seed, client, number, len(servers))]
            vertices[name] = {"peers": f"{server.name}:{SERVER_PORT}"}
            if traffic.response_quantiles is not None:
                vertices[name]["recvsize"] = f"{response_bytes(traffic, seed, client, number)} bytes"
            if traffic.streams_per_circuit_isolation:
                vertices[name] |= {"socksusername": name, "sockspassword": name}
            edges.append((previous, name))
            first, previous = first or name, name
            pause = pause_ns(traffic, seed, client, number)
            if pause:
                vertices[f"pause{number}"] = {"time": f"{pause // 1000} microseconds"}
                edges.append((name, f"pause{number}"))
                previous = f"pause{number}"
            paused_ns += pause
            number += traffic.parallel_streams
        edges.append((previous, first))


def _add_pages(
    run: RunSpec,
    seed: int,
    client: int,
    traffic: RunTraffic,
    servers: Sequence[Server],
    vertices: Vertices,
    edges: list[tuple[str, str]],
) -> None:
    """One page after the other: its first object, chains of the others, and an end that all of them reach.

    TGen goes on from a pause without a time when it has come there by every edge.
    """
    previous, page, paused_ns, chains = "start", 0, 0, traffic.parallel_streams
    while paused_ns < run.duration_ns and page < MOST_DOWNLOADS:
        page += 1
        count = object_count(traffic, seed, client, page)
        server = servers[server_index(seed, client, page, len(servers))]
        end = page_end(page)
        for which in range(1, count + 1):
            name = page_object(page, which)
            size = response_bytes(traffic, seed, client, page * PAGE + which)
            vertices[name] = {"peers": f"{server.name}:{SERVER_PORT}", "recvsize": f"{size} bytes"}
            edges.append((previous if which == 1 else page_object(page, max(1, which - chains)), name))
            if which + chains > count and (which > 1 or count == 1):
                edges.append((name, end))
        vertices[end] = {}
        previous, pause = end, pause_ns(traffic, seed, client, page)
        if pause:
            previous = f"pause{page}"
            vertices[previous] = {"time": f"{pause // 1000} microseconds"}
            edges.append((end, previous))
        paused_ns += pause
    edges.append((previous, page_object(1, 1)))


def graphml(vertices: Vertices, edges: Sequence[tuple[str, str]]) -> str:
    """An action graph of ``vertices`` (id to attributes) and ``edges``, as TGen reads it."""
    used = {name for attributes in vertices.values() for name in attributes}
    return document(
        [Attribute("node", name) for name in _ATTRIBUTES if name in used],
        "directed",
        [
            *(node_line(vertex, attributes) for vertex, attributes in vertices.items()),
            *(f'<edge source="{source}" target="{target}"/>' for source, target in edges),
        ],
    )
