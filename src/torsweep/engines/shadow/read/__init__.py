"""The tables of a Shadow run, from the logs of its hosts and, where it traces, from rings and captures.

In: a run directory and the folder of Shadow's files with layout.json. Out: the tables, and counters for
provenance. Times count from the opening of the clients' window, as in every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.conflux import counted_conflux
from torsweep.engines.breakdown.join import Seen, write_breakdown, write_no_breakdown
from torsweep.engines.breakdown.pcap import Captures, captures_of, join_captures, read_pcap
from torsweep.engines.cell_ring import RING_FILE, write_cells
from torsweep.engines.circuit_paths import common_paths
from torsweep.engines.cost_tables import VEGAS_LOG, round_trips_frame
from torsweep.engines.host_files import address
from torsweep.engines.programs import CAPTURE_FILE
from torsweep.engines.run_spec import read_run
from torsweep.engines.shadow.read.logs import SUFFIXES, Log, find_all_logs, find_logs
from torsweep.engines.shadow.read.oniontrace import (
    Events,
    circuit_rows,
    read_oniontrace,
    relay_rows,
    telling_logs,
    traced_downloads,
)
from torsweep.engines.shadow.read.streams import (
    all_downloads,
    progress_rows,
    received_rows,
    stream_rows,
    unfinished_downloads,
)
from torsweep.engines.shadow.read.tgen import read_graphs, read_tgen
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, Layout, followed_hosts, read_layout
from torsweep.engines.table_schema import (
    CIRCUITS,
    OUTCOMES,
    PROGRESS,
    RECEIVED,
    RELAYS,
    ROUND_TRIPS,
    STREAMS,
    write_table,
)
from torsweep.errors import InputError
from torsweep.network.model import read_network
from torsweep.units import SECOND_NS

GRAPH_FILE = "tgen.graphml"
"""A client's action graph, in its host's folder."""

_NO_PROGRESS = pl.DataFrame(schema=PROGRESS.polars)


def write_tables(run_directory: Path, shadow_directory: Path) -> dict[str, Any]:
    """Write the tables of the run from the logs in ``shadow_directory``; counters of lines, of downloads by
    outcome, and of what could not be known. InputError, with file and line, for logs that are missing, cut
    off, garbled where it matters, or of versions that cannot be read."""
    run, layout = read_run(run_directory), read_layout(shadow_directory)
    hosts, clients = shadow_directory / HOSTS_FOLDER, list(layout.clients)
    tgen_logs = find_all_logs(hosts, "tgen", clients)
    tgen = read_tgen(tgen_logs)
    steps = read_graphs([_graph(hosts, client) for client in clients])
    unfinished = unfinished_downloads(tgen_logs, tgen, steps, layout.end_us)
    traces = find_logs(hosts, "oniontrace", clients)
    events = by_client(read_oniontrace(traces), traces, clients)
    downloads = traced_downloads(all_downloads(tgen, unfinished, layout), events)
    streams = stream_rows(downloads, tgen.growth, layout)
    circuits = circuits_frame(circuit_rows(events, _names(layout)), layout)
    relay_logs = find_logs(hosts, "oniontrace", layout.relays)
    relay_events = read_oniontrace(relay_logs)
    progress = progress_rows(streams, tgen, events, layout, hosts) if run.tables.progress else _NO_PROGRESS
    write_table(run_directory, PROGRESS, progress)
    received = received_rows(streams, events, layout)
    if run.arti_hosts:
        # What tor tells of its own circuits and bytes would be compared with that of all clients.
        circuits, received = circuits.clear(), received.clear()
    write_table(run_directory, RECEIVED, received)
    streams = streams.select(list(STREAMS.polars))
    write_table(run_directory, STREAMS, streams)
    write_table(run_directory, RELAYS, relay_rows(relay_events, relay_logs, layout))
    write_table(run_directory, CIRCUITS, circuits)
    write_table(run_directory, ROUND_TRIPS, _round_trips(hosts, layout))
    return {
        "tgen": {
            "versions": sorted(set(tgen.versions["version"])),
            "lines": tgen.lines,
            "unknown_lines": tgen.unknown_lines,
            "warnings": tgen.warnings,
        },
        "oniontrace": {
            "versions": sorted({*events.versions["version"], *relay_events.versions["version"]}),
            "lines": events.lines + relay_events.lines,
            "unknown_lines": events.unknown_lines + relay_events.unknown_lines,
        },
        **{outcome: streams.filter(pl.col("outcome") == outcome).height for outcome in OUTCOMES},
        **_unknown(streams, circuits),
        **common_paths(circuits, run.paths),
        **counted_conflux(circuits),
        "clients_without_trace": len(clients) - len(traces),
        "relays_without_trace": len(layout.relays) - len(telling_logs(relay_events)),
    }


def _round_trips(hosts: Path, layout: Layout) -> pl.DataFrame:
    found = {relay: _plain_or_packed(hosts / relay / VEGAS_LOG) for relay in layout.relays}
    logs = {relay: file for relay, file in found.items() if file is not None}
    zero = datetime.fromtimestamp(layout.start_us // 1_000_000, UTC).replace(tzinfo=None)
    return round_trips_frame(logs, zero, layout.duration_ns // 1000)


def _graph(hosts: Path, client: str) -> Log:
    file = _plain_or_packed(hosts / client / GRAPH_FILE)
    if file is None:
        raise InputError("no such file", file=hosts / client / GRAPH_FILE)
    return Log(client, file)


def _plain_or_packed(file: Path) -> Path | None:
    places = (file.with_name(f"{file.name}{suffix}") for suffix in SUFFIXES)
    return next((place for place in places if place.exists()), None)


def by_client(events: Events, traces: Sequence[Log], clients: Sequence[str]) -> Events:
    """``events`` with the index of the client for the index of its log."""
    number = {client: index for index, client in enumerate(clients)}
    index = {log: number[trace.host] for log, trace in enumerate(traces)}
    renumbered = pl.col("log").replace_strict(index, return_dtype=pl.Int64)
    return replace(
        events,
        circuits=events.circuits.with_columns(renumbered),
        circuit_bytes=events.circuit_bytes.with_columns(renumbered),
        streams=events.streams.with_columns(renumbered),
        stream_bytes=events.stream_bytes.with_columns(renumbered),
    )


def _names(layout: Layout) -> dict[str, str]:
    return {fingerprint: name for name, fingerprint in (*layout.relays.items(), *layout.authorities.items())}


def circuits_frame(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """``rows`` as the table of circuits; ``log`` counts the clients of ``layout``."""
    times = [layout.since_start(name) for name in ("launched_us", "built_us", "first_use_us", "closed_us")]
    client = pl.Series(list(layout.clients), dtype=pl.String).gather(rows["log"])
    return rows.with_columns(*times, client=client).select(list(CIRCUITS.polars))


def _unknown(streams: pl.DataFrame, circuits: pl.DataFrame) -> dict[str, int]:
    unfinished = streams.filter(pl.col("outcome") == "unfinished")
    used = circuits.filter(pl.col("streams") > 0)
    return {
        "downloads_without_circuit": streams["circuit"].null_count(),
        "unfinished_of_unknown_bytes": unfinished["bytes_got"].null_count(),
        "used_circuits_of_unknown_path": used["path"].null_count(),
    }


_ANSWER_HEADER_BYTES = 62
"""Before the payload of an answer, TGen 1.1.2 sends its password and a line with its protocol's version, the
host's name (not counted here) and a code: 69 bytes from ``server1``, as captured."""


def answer_header_bytes(server: str) -> int:
    """How many bytes the TGen of ``server`` sends before what was asked for."""
    return _ANSWER_HEADER_BYTES + len(server)


def read_captures(
    hosts: Path, names: Iterable[str], addresses: Mapping[str, str], zero_ns: int
) -> tuple[Captures, dict[str, int]]:
    """The captures of ``names`` in ``hosts``; the run begins ``zero_ns`` after Shadow. InputError as of
    :func:`read_pcap`."""
    segments: dict[str, pl.DataFrame] = {}
    counts: dict[str, int] = {}
    for name in names:
        frame, unused = read_pcap(hosts / name / CAPTURE_FILE)
        segments[name] = frame.with_columns(pl.col("time_ns") - zero_ns)
        counts = {reason: counts.get(reason, 0) + count for reason, count in unused.items()}
    return captures_of(segments, addresses), counts


def write_traced_tables(run_directory: Path, folder: Path, least_one_way_ns: int) -> dict[str, Any]:
    """Write the tables of a traced run, whose pairs of hosts are ``least_one_way_ns`` apart or more;
    InputError for a ring or a capture that is not whole. All hosts of a simulation have one clock."""
    run = read_run(run_directory)
    if run.tracing is None:
        return {"tracing": {}}
    layout, hosts = read_layout(folder), folder / HOSTS_FOLDER
    rings = {host: hosts / host / RING_FILE for host in run.tracing.hosts}
    traced = {"tracing": write_cells(run_directory, rings, layout.epoch_s * SECOND_NS + layout.bootstrap_ns)}
    network_directory = run_directory / run.network
    network, _ = read_network(network_directory, latency=False)
    captured = followed_hosts(run.tracing, network)
    if not captured:
        write_no_breakdown(run_directory)
        return traced
    names = {address(node): name for name, node in network.node_of.items()}
    captures, unused = read_captures(hosts, captured, names, layout.bootstrap_ns)
    packets, unplaced = join_captures(captures)
    seen = Seen(packets, least_one_way_ns, answer_header_bytes)
    document = write_breakdown(run_directory, network_directory, rings, seen, run.tracing.downloads)
    return {**traced, **document, "captures": {**unused, **unplaced}}
