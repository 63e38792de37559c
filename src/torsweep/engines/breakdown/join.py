"""Follow downloads through real tors: cells, packets and downloads become the ``breakdown`` of a run.

In: the ``cells`` of all relays on the way, their channels, the packets between hosts, the downloads, the
network. Out: the table, and how many downloads were followed or could not be, by reason. All times are of one
clock.

At the exit a download is found by its BEGIN, which leads back to the client from relay to relay; then come
CONNECTED, the request, and the first and the last DATA cell of the same stream. What a client's tor and
program do is one piece, ``program``, because nobody records them; so is the server's. What the exit does
between reading an answer and queueing its cell is ``window``. Where the connection to the server cannot be
told from others, everything after the request is ``beyond``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.engines.breakdown.cells import FAILURES, CellRecord, Cells, Failure
from torsweep.engines.breakdown.passing import (
    SLACK_NS,
    Direction,
    Link,
    Packets,
    Way,
    over_link,
    through_relay,
)
from torsweep.engines.cell_ring import channels_frame, read_ring, scan_cells
from torsweep.engines.circuit_paths import PLACES_OF_A_PATH
from torsweep.engines.host_files import address
from torsweep.engines.table_schema import BREAKDOWN, STREAMS, write_table
from torsweep.network.model import read_network

BEGIN, DATA, END, CONNECTED = 1, 2, 3, 4
"""Relay commands (tor-spec 6.1)."""

_RELAY_POINTS = ("inbuf", "queue", "outbuf", "flush")


@dataclass(frozen=True)
class Trace:
    """What was recorded of a run. ``one_way_ns`` takes the names of sender and receiver; ``before_answer``
    that of a server: how many bytes it sends before those that were asked for."""

    cells: Cells
    packets: Packets
    one_way_ns: Callable[[str, str], int]
    before_answer: Callable[[str], int] = lambda _: 0


@dataclass(frozen=True)
class Hop:
    """A cell in a relay: where on the circuit, the relay, its records by point."""

    place: str
    host: str
    records: dict[str, CellRecord]


@dataclass(frozen=True)
class Begun:
    """A stream at an exit: its BEGIN there, and the way that it came, from the guard on."""

    exit: str
    cell: CellRecord
    client: str
    hops: tuple[Hop, ...]


def join(trace: Trace, streams: pl.DataFrame, one_in: int) -> tuple[pl.DataFrame, dict[str, int]]:
    """The table and the counts; one download in ``one_in`` is followed, chosen by its name."""
    begun = _Begins(list(_begun(trace)), streams)
    rows: list[tuple[Any, ...]] = []
    counts = dict.fromkeys(("followed", "first_bytes", "whole", "no_byte", *FAILURES), 0)
    for stream in streams.iter_rows(named=True):
        name = f"{stream['client']}/{stream['stream']}"
        if zlib.crc32(name.encode()) % one_in:
            continue
        counts["followed"] += 1
        if stream["first_byte_us"] is None:
            counts["no_byte"] += 1
            continue
        try:
            ways = _follow(trace, stream, begun)
        except Failure as failure:
            counts[str(failure)] += 1
            continue
        counts["first_bytes"] += 1
        counts["whole"] += "last" in ways
        for byte, way in ways.items():
            rows += _rows(stream, byte, way)
    return pl.DataFrame(rows, schema=BREAKDOWN.polars, orient="row"), counts


def _rows(stream: Mapping[str, Any], byte: str, way: Way) -> Iterator[tuple[Any, ...]]:
    """The rows of the way to ``byte``, in the order of the table's columns."""
    download = (stream["client"], stream["stream"], byte)
    for step, piece in enumerate(way.lasting(), 1):
        lasted_ns = piece.end_ns - piece.start_ns
        yield *download, step, piece.leg, piece.place, piece.host, piece.part, piece.start_ns, lasted_ns


def _begun(trace: Trace) -> Iterator[Begun]:
    """The streams at all exits that can be led back to a client."""
    for host in trace.cells.hosts:
        for cell in trace.cells.of_command(host, "recognized", BEGIN).iter_rows(named=True):
            try:
                client, hops = _outward(trace, host, cell)
            except Failure:
                continue
            yield Begun(host, cell, client, hops)


class _Begins:
    def __init__(self, begun: list[Begun], streams: pl.DataFrame) -> None:
        self._begun: dict[str, list[Begun]] = {}
        for one in sorted(begun, key=lambda one: one.cell["time_ns"]):
            self._begun.setdefault(one.client, []).append(one)
        opened = streams.filter(pl.col("socks_reply_us").is_not_null()).sort("client", "start_us", "stream")
        self._streams: dict[str, list[Mapping[str, Any]]] = {}
        for stream in opened.iter_rows(named=True):
            self._streams.setdefault(stream["client"], []).append(stream)

    def of(self, stream: Mapping[str, Any]) -> Begun:
        """The BEGIN of ``stream``; Failure when none fits, or several do. Where as many downloads as BEGINs
        of one circuit fit each other, they are taken in order: tor sends BEGIN for streams as they come."""
        fits = self._fitting(stream)
        if not fits:
            raise Failure("no_begin")
        if len(fits) == 1:
            return fits[0]
        rivals = [other for other in self._streams[stream["client"]] if self._fitting(other) == fits]
        circuits = {(one.exit, one.cell["channel"], one.cell["circuit"]) for one in fits}
        numbers = [other["stream"] for other in rivals]
        if len(rivals) != len(fits) or len(circuits) > 1 or stream["stream"] not in numbers:
            raise Failure("several_begins")
        return fits[numbers.index(stream["stream"])]

    def _fitting(self, stream: Mapping[str, Any]) -> list[Begun]:
        start_ns = stream["start_us"] * 1000
        connected_ns = start_ns + stream["socks_reply_us"] * 1000
        return [
            one
            for one in self._begun.get(stream["client"], ())
            if start_ns <= one.cell["time_ns"] <= connected_ns + SLACK_NS
        ]


def _follow(trace: Trace, stream: Mapping[str, Any], begun: _Begins) -> dict[str, Way]:
    start_ns = stream["start_us"] * 1000
    connected_ns = start_ns + stream["socks_reply_us"] * 1000
    at_exit = begun.of(stream)
    connected, request, answers = _exchange(trace, at_exit)
    way = Way(start_ns)
    way.leg = "begin"
    _up(trace, way, at_exit.client, at_exit.hops, "circuit")
    way.until(at_exit.cell["time_ns"], "exit", at_exit.exit, "relaying")
    way.until(connected["time_ns"], "exit-server", at_exit.exit, "connect")
    way.leg = "connected"
    client, hops = _inward(trace, at_exit.exit, connected)
    _down(trace, way, client, hops, connected_ns)
    way.leg = "request"
    client, hops = _outward(trace, at_exit.exit, request)
    _up(trace, way, client, hops, "program")
    way.until(request["time_ns"], "exit", at_exit.exit, "relaying")
    server = trace.packets.opened(
        at_exit.exit,
        str(stream["server"]),
        at_exit.cell["time_ns"] - SLACK_NS,
        connected["time_ns"] + SLACK_NS,
    )
    first = _first_answer(trace, at_exit.exit, server, answers)
    ways = {"first": (first, 1, stream["first_byte_us"])}
    if stream["last_byte_us"] is not None:
        ways["last"] = (answers[-1], stream["bytes_wanted"], stream["last_byte_us"])
    ways_of_bytes = {}
    for byte, (cell, end, time_us) in ways.items():
        to_byte = way.copy()
        _answer(trace, to_byte, at_exit.exit, server, cell, end)
        client, hops = _inward(trace, at_exit.exit, cell)
        _down(trace, to_byte, client, hops, start_ns + time_us * 1000)
        to_byte.ends(start_ns + time_us * 1000, "client", client, "program")
        ways_of_bytes[byte] = to_byte
    return ways_of_bytes


def _exchange(trace: Trace, begun: Begun) -> tuple[CellRecord, CellRecord, list[CellRecord]]:
    """CONNECTED, the end of the request and the DATA cells of the answer on the stream of ``begun``."""
    key = [pl.col(name) == begun.cell[name] for name in ("channel", "circuit", "stream")]
    since = pl.col("time_ns") > begun.cell["time_ns"]
    again = trace.cells.of_command(begun.exit, "recognized", BEGIN).filter(*key, since)["time_ns"].to_list()
    within = since & (pl.col("time_ns") < again[0]) if again else since

    def of(point: Any, command: int) -> list[CellRecord]:
        return list(
            trace.cells.of_command(begun.exit, point, command).filter(*key, within).iter_rows(named=True)
        )

    connected, answers = of("queue", CONNECTED), of("queue", DATA)
    requests = [
        cell for cell in of("recognized", DATA) if answers and cell["time_ns"] <= answers[0]["time_ns"]
    ]
    if not connected or not requests or not answers:
        raise Failure("no_answer")
    return connected[0], requests[-1], answers


def _first_answer(
    trace: Trace, exit_host: str, server: Direction | None, answers: list[CellRecord]
) -> CellRecord:
    """The cell with the first byte that was asked for: what a server sends before may have left in a cell of
    its own, when that byte could not be read yet."""
    before = trace.before_answer(server[2]) if server is not None else 0
    if server is None or not before:
        return answers[0]
    _, port, name, server_port = server
    readable_ns = trace.packets.carried((name, server_port, exit_host, port), before + 1).readable_ns
    return next((cell for cell in answers if cell["time_ns"] >= readable_ns), answers[-1])


def _records(trace: Trace, host: str, cell: int, points: tuple[Any, ...]) -> dict[str, CellRecord]:
    return {point: trace.cells.record(host, point, cell) for point in points}


def _outward(trace: Trace, exit_host: str, recognized: CellRecord) -> tuple[str, tuple[Hop, ...]]:
    """The client from which the cell ``recognized`` came, and its records at guard, middle and exit."""
    hops = [Hop("exit", exit_host, _records(trace, exit_host, recognized["cell"], ("inbuf",)))]
    for place in ("middle", "guard"):
        host, sent = trace.cells.last_cell(hops[0].host, hops[0].records["inbuf"])
        hops.insert(0, Hop(place, host, _records(trace, host, sent["cell"], _RELAY_POINTS)))
    return trace.cells.other(hops[0].host, hops[0].records["inbuf"]["channel"]), tuple(hops)


def _inward(trace: Trace, exit_host: str, queued: CellRecord) -> tuple[str, tuple[Hop, ...]]:
    """The client that the cell ``queued`` goes to, and its records at exit, middle and guard."""
    hops = [Hop("exit", exit_host, _records(trace, exit_host, queued["cell"], _RELAY_POINTS[1:]))]
    for place in ("middle", "guard"):
        host, read = trace.cells.next_cell(hops[-1].host, hops[-1].records["flush"])
        hops.append(Hop(place, host, _records(trace, host, read["cell"], _RELAY_POINTS)))
    return trace.cells.other(hops[-1].host, hops[-1].records["flush"]["channel"]), tuple(hops)


def _up(trace: Trace, way: Way, client: str, hops: tuple[Hop, ...], waits_for: str) -> None:
    """Add the way from the client until the exit has taken the cell."""
    guard = hops[0]
    link = _link(trace, ("client", client), (guard.place, guard.host))
    read = guard.records["inbuf"]
    carried = trace.packets.carried(
        _direction(trace, guard.host, read["channel"], client), read["tcp_offset"]
    )
    over_link(way, link, carried, 0, waits_for)
    for hop, after in pairwise(hops):
        _to_next(trace, way, hop, after)
    last = hops[-1]
    way.until(last.records["inbuf"]["time_ns"], last.place, last.host, "receive_kernel")


def _down(trace: Trace, way: Way, client: str, hops: tuple[Hop, ...], known_ns: int) -> None:
    """From the queue of the exit to the kernel of the client, whose program has the cell by ``known_ns``. One
    write of the guard may contain later cells, too: only bytes that could be read by then are needed."""
    for hop, after in pairwise(hops):
        _to_next(trace, way, hop, after)
    guard = hops[-1]
    write_ns = through_relay(way, guard.place, guard.host, guard.records)
    sent = guard.records["flush"]
    direction = _direction(trace, guard.host, sent["channel"], guard.host)
    end = min(sent["tcp_offset"], trace.packets.readable_by(direction, known_ns + SLACK_NS))
    link = _link(trace, (guard.place, guard.host), ("client", client))
    over_link(way, link, trace.packets.carried(direction, end), write_ns)


def _to_next(trace: Trace, way: Way, hop: Hop, after: Hop) -> None:
    """Through a relay and to the next one's kernel: as much of the stream as both had by then."""
    write_ns = through_relay(way, hop.place, hop.host, hop.records)
    sent, read = hop.records["flush"], after.records["inbuf"]
    end = min(sent["tcp_offset"], read["tcp_offset"])
    carried = trace.packets.carried(_direction(trace, hop.host, sent["channel"], hop.host), end)
    over_link(way, _link(trace, (hop.place, hop.host), (after.place, after.host)), carried, write_ns)


def _answer(
    trace: Trace, way: Way, exit_host: str, server: Direction | None, queued: CellRecord, end: int
) -> None:
    """From when the exit has the request until the cell with the byte before ``end`` is in its queue."""
    way.leg = "response" if server is None else "request"
    if server is None:
        way.until(queued["time_ns"], "exit-server", exit_host, "beyond")
        return
    _, port, name, server_port = server
    link = _link(trace, ("exit", exit_host), ("server", name))
    request_end = trace.packets.sent_before(server, queued["time_ns"])
    over_link(way, link, trace.packets.carried(server, request_end), 0)
    way.leg = "response"
    back = _link(trace, ("server", name), ("exit", exit_host))
    answer = trace.packets.carried((name, server_port, exit_host, port), trace.before_answer(name) + end)
    over_link(way, back, answer, 0, "program")
    way.until(queued["time_ns"], "exit", exit_host, "window")


def _direction(trace: Trace, host: str, channel: int, sender: str) -> Direction:
    """The direction of the connection under ``channel`` of ``host`` in which ``sender`` sends."""
    connection = trace.cells.connection(host, channel)
    port = trace.packets.port_of(connection.opener, connection.port, connection.other)
    ends = ((connection.opener, connection.port), (connection.other, port))
    (first, second) = ends if sender == connection.opener else ends[::-1]
    return (*first, *second)


def _link(trace: Trace, sends: tuple[str, str], receives: tuple[str, str]) -> Link:
    order = ("client", *PLACES_OF_A_PATH, "server")
    name = "-".join(sorted((sends[0], receives[0]), key=order.index))
    one_way_ns = trace.one_way_ns(sends[1], receives[1])
    return Link(name, sends[1], sends[0], receives[1], one_way_ns)


@dataclass(frozen=True)
class Seen:
    """The packets between hosts, by one clock, with times of the run. A pair of hosts is never closer than
    ``least_one_way_ns``; ``before_answer`` is that of :class:`Trace`."""

    packets: pl.DataFrame
    least_one_way_ns: int = 0
    before_answer: Callable[[str], int] = lambda _: 0


def write_breakdown(
    run_directory: Path, network_directory: Path, rings: Mapping[str, Path], seen: Seen, one_in: int
) -> dict[str, Any]:
    """Follow one download in ``one_in`` and write the table; the counts. InputError for a file that is not
    whole."""
    network, latencies = read_network(network_directory)
    nodes = network.node_of

    @cache
    def one_way_ns(sender: str, receiver: str) -> int:
        rtt_us = int(latencies.between(nodes[sender], nodes[receiver]))
        return max(rtt_us * 1000 // 2, seen.least_one_way_ns)

    channels = pl.concat(channels_frame(read_ring(file), host) for host, file in rings.items())
    names = {address(node): name for name, node in nodes.items()}
    cells = Cells(scan_cells(run_directory).collect(), channels, names)
    trace = Trace(cells, Packets(seen.packets), one_way_ns, seen.before_answer)
    frame, counts = join(trace, pl.read_parquet(run_directory / STREAMS.file), one_in)
    write_table(run_directory, BREAKDOWN, frame)
    return {"followed_downloads": counts}


def write_no_breakdown(run_directory: Path) -> None:
    """Write the table without rows: no download was followed."""
    write_table(run_directory, BREAKDOWN, pl.DataFrame(schema=BREAKDOWN.polars))
