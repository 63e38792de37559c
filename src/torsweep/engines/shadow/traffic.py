"""TGen's action graphs: what a client downloads, from where, and how long it pauses in between.

In: a run and one of its clients. Out: GraphML. Every download and pause is an action of its own, drawn
beforehand: all variants ask for the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.config.traffic import KINDS, AnyKind
from torsweep.engines.draws import MOST_DOWNLOADS, PAGE, object_count, pause_ns, response_bytes, server_index
from torsweep.engines.host_files import SERVER_PORT, SOCKS_PORT
from torsweep.engines.run_spec import RunSpec, RunTraffic

USER_MARK = "@"
"""Before the name of the client in the names of steps of clients that share a tor."""

Vertices = dict[str, dict[str, str]]
"""The attributes of each vertex."""


def server_graph() -> str:
    """The graph of a server: it listens, and answers whatever a client asks for."""
    start = {"serverport": str(SERVER_PORT), "loglevel": "message", "heartbeat": "0", "stallout": "0"}
    return graphml({"start": start}, [])


@dataclass(frozen=True)
class User:
    """A client by its number among the network's, and how long after TGen it starts."""

    number: int
    name: str
    after_ns: int = 0


def client_graph(run: RunSpec, users: Sequence[User], kind: AnyKind, servers: Sequence[str]) -> str:
    """The graph of the clients of ``kind`` that share a tor, or of one alone; the servers go by ``servers``.
    A client's downloads are numbered as they would be one after the other; ``parallel_streams`` chains take
    turns. A chain ends when its pauses alone fill the run, or at :data:`MOST_DOWNLOADS`, and then begins
    anew."""
    traffic = run.traffic[kind]
    vertices: Vertices = {
        "start": {
            "socksproxy": f"localhost:{SOCKS_PORT}",
            # At level info TGen reports at each read how far a download is; goodput is computed from these
            # reports.
            "loglevel": "info" if run.tables.progress or kind not in KINDS else "message",
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
    for user in users:
        shared = user.name if len(users) > 1 else ""
        steps = _ClientSteps(
            run.duration_ns, run.seed, user.number, shared, traffic, servers, vertices, edges
        )
        begin = steps.begin_after(user.after_ns)
        add = steps.add_pages if traffic.has_pages else steps.add_downloads
        add(begin)
    return graphml(vertices, edges)


@dataclass
class _ClientSteps:
    """Adds the steps of a client to ``vertices`` and ``edges``; ``shared`` is its name if it shares a tor."""

    duration_ns: int
    seed: int
    client: int
    shared: str
    traffic: RunTraffic
    servers: Sequence[str]
    vertices: Vertices
    edges: list[tuple[str, str]]

    def _add(self, name: str, **does: str) -> str:
        """Add the step ``name``; its name in the graph."""
        name = f"{name}{USER_MARK}{self.shared}" if self.shared else name
        self.vertices[name] = does
        return name

    def _download(self, name: str, server: str, **does: str) -> str:
        """Add a step that downloads, on a circuit that it shares as it should."""
        step = self._add(name, peers=server, **does)
        user = step if self.traffic.streams_per_circuit_isolation else self.shared
        if user:
            self.vertices[step] |= {"socksusername": user, "sockspassword": user}
        return step

    def begin_after(self, after_ns: int) -> str:
        """The step after which the client begins."""
        if not after_ns:
            return "start"
        pause = self._add("pause0", time=f"{after_ns // 1000} microseconds")
        self.edges.append(("start", pause))
        return pause

    def _peers(self, number: int) -> str:
        server = self.servers[server_index(self.seed, self.client, number, len(self.servers))]
        return f"{server}:{SERVER_PORT}"

    def _size(self, number: int) -> str:
        return f"{response_bytes(self.traffic, self.seed, self.client, number)} bytes"

    def _pause_after(self, step: str, number: int) -> tuple[str, int]:
        """The step after the pause that follows ``step``, the end of ``number``; and the pause in ns."""
        pause = pause_ns(self.traffic, self.seed, self.client, number)
        if not pause:
            return step, pause
        name = self._add(f"pause{number}", time=f"{pause // 1000} microseconds")
        self.edges.append((step, name))
        return name, pause

    def add_downloads(self, begin: str) -> None:
        chains = self.traffic.parallel_streams
        for chain in range(chains):
            previous, first, paused_ns, number = begin, "", 0, chain + 1
            while paused_ns < self.duration_ns and number <= MOST_DOWNLOADS * chains:
                drawn = self.traffic.response_quantiles is not None or self.traffic.under_way_at_start
                size = {"recvsize": self._size(number)} if drawn else {}
                name = self._download(f"stream{number}", self._peers(number), **size)
                self.edges.append((previous, name))
                first = first or name
                previous, pause = self._pause_after(name, number)
                paused_ns += pause
                number += chains
            self.edges.append((previous, first))

    def add_pages(self, begin: str) -> None:
        """One page after the other: its first object, chains of the others, an end that all of them reach."""
        # TGen goes on from a pause without a time when it has come there by every edge.
        previous, page, paused_ns, chains = begin, 0, 0, self.traffic.parallel_streams
        objects: dict[tuple[int, int], str] = {}
        while paused_ns < self.duration_ns and page < MOST_DOWNLOADS:
            page += 1
            count = object_count(self.traffic, self.seed, self.client, page)
            peers, end = self._peers(page), self._add(f"pause{page}all")
            for which in range(1, count + 1):
                size = self._size(page * PAGE + which)
                name = self._download(f"stream{page}-{which}", peers, recvsize=size)
                objects[page, which] = name
                before = previous if which == 1 else objects[page, max(1, which - chains)]
                self.edges.append((before, name))
                if which + chains > count and (which > 1 or count == 1):
                    self.edges.append((name, end))
            previous, pause = self._pause_after(end, page)
            paused_ns += pause
        self.edges.append((previous, objects[1, 1]))


def graphml(vertices: Vertices, edges: Sequence[tuple[str, str]]) -> str:
    """An action graph of ``vertices`` (id to attributes) and ``edges``, as TGen reads it."""
    # Reading a run's tables needs this module, too, but no graph.
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(vertices.items())
    graph.add_edges_from(edges)
    text = "".join(networkx.generate_graphml(graph, prettyprint=False, named_key_ids=True))
    # A vertex or an edge a line: that is how the graphs of all clients are read together.
    return re.sub(r"(?=<(node|edge) |</graph>)", "\n", text) + "\n"


def is_end(step: str) -> pl.Expr:
    """Whether the column ``step`` names the end of a page."""
    return pl.col(step).str.contains(rf"^pause\d+all({USER_MARK}|$)")


def user_of(step: str, otherwise: pl.Expr) -> pl.Expr:
    """The client that the column ``step`` names; ``otherwise`` if it names none."""
    return pl.coalesce(pl.col(step).str.extract(rf"{USER_MARK}(.+)$"), otherwise)


def number_of(step: str, otherwise: str) -> pl.Expr:
    """The number of the download at ``step``, or the column ``otherwise`` if it is not an object of a page.
    The rows of a client are in the order of starts. A client that comes to a step again has been at the last
    page, and its pages count on from there."""
    page, which = (
        pl.col(step).str.extract(rf"^stream(\d+)-(\d+)({USER_MARK}|$)", group).cast(pl.Int64)
        for group in (1, 2)
    )
    again = pl.int_range(pl.len()).over("client", step)
    return pl.coalesce((page + again * page.max().over("client")) * PAGE + which, otherwise)
