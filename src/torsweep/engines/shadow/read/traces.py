"""The tables ``cells`` and ``breakdown`` of a traced run, by the clock of each host.

In: a run directory with its ``streams`` table, and Shadow's folder with the relays' rings and, where
downloads are followed, the hosts' captures. Out: the tables, and what provenance.json has of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.engines.breakdown.pcap import Captures, captures_of, read_pcap
from torsweep.engines.breakdown.write import Seen, write_breakdown, write_no_breakdown
from torsweep.engines.cell_ring import RING_FILE, write_cells
from torsweep.engines.hosts import address
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.engines.shadow.layout import HOSTS_FOLDER, Layout, captured_hosts, read_layout
from torsweep.errors import InputError
from torsweep.network.model import read_network
from torsweep.units import SECOND_NS

CAPTURE_FILE = "eth0.pcap"
"""What Shadow calls the capture of a host's interface; that of the host's own is ``lo.pcap``."""

_ANSWER_HEADER_BYTES = 62
"""Before the payload of an answer, TGen 1.1.2 sends its password, and a line with the version of its
protocol, the host's name (not counted here) and a code: 69 bytes from ``server1``, as captured."""


def answer_header_bytes(server: str) -> int:
    """How many bytes the TGen of ``server`` sends before what was asked for."""
    return _ANSWER_HEADER_BYTES + len(server)


def read_captures(
    hosts: Path, names: Iterable[str], addresses: Mapping[str, str], zero_ns: int
) -> tuple[Captures, dict[str, int]]:
    """The captures of ``names`` in the folder ``hosts``; the run begins ``zero_ns`` after Shadow does.

    Raises InputError for a capture that is missing, none, or has a clock that goes back.
    """
    segments: dict[str, pl.DataFrame] = {}
    counts: dict[str, int] = {}
    for name in names:
        frame, unused = read_pcap(hosts / name / CAPTURE_FILE)
        segments[name] = frame.with_columns(pl.col("time_ns") - zero_ns)
        counts = {reason: counts.get(reason, 0) + count for reason, count in unused.items()}
    return captures_of(segments, addresses, "packets"), counts


@dataclass(frozen=True)
class Clock:
    """Start (the opening of the clients' window) and end of a run, µs since 1970 of the simulated clock."""

    start_us: int
    end_us: int

    @classmethod
    def of(cls, layout: Layout) -> Clock:
        """The clock of the run that ``layout`` describes."""
        start_us = layout.epoch_s * 1_000_000 + layout.bootstrap_ns // 1000
        return cls(start_us, start_us + layout.duration_ns // 1000)

    def since_start(self, column: str) -> pl.Expr:
        """``column`` counted from the start of the run."""
        return pl.col(column) - self.start_us


def _rings(run: RunSpec, folder: Path) -> dict[str, Path]:
    hosts = run.tracing.hosts if run.tracing else ()
    return {host: folder / HOSTS_FOLDER / host / RING_FILE for host in hosts}


def require_traces(run_directory: Path, folder: Path) -> None:
    """InputError when the rings of a traced run are gone, which is how a run leaves its folder."""
    for ring in _rings(read_run(run_directory), folder).values():
        if not ring.exists():
            raise InputError(
                "is gone: its cells cannot be read again",
                file=ring,
                accepted="a run without tracing, or one that was made with --keep-logs",
            )


def write_traced_tables(run_directory: Path, folder: Path, least_one_way_ns: int) -> dict[str, Any]:
    """Write the tables of a traced run, whose pairs of hosts are ``least_one_way_ns`` apart or more.

    All hosts of a simulation have one clock. Raises InputError for a ring or a capture that is not whole.
    """
    run = read_run(run_directory)
    if run.tracing is None:
        return {"tracing": {}}
    layout, rings = read_layout(folder), _rings(run, folder)
    traced = {"tracing": write_cells(run_directory, rings, layout.epoch_s * SECOND_NS + layout.bootstrap_ns)}
    network_directory = run_directory / run.network
    network, _ = read_network(network_directory, latency=False)
    captured = captured_hosts(run.tracing, network)
    if not captured:
        write_no_breakdown(run_directory)
        return traced
    names = {address(node): name for name, node in network.node_of.items()}
    captures, unused = read_captures(folder / HOSTS_FOLDER, captured, names, layout.bootstrap_ns)
    seen = Seen(captures, least_one_way_ns, answer_header_bytes)
    document = write_breakdown(run_directory, network_directory, rings, seen, run.tracing.downloads)
    return {**traced, **document, "captures": {**unused, **document["captures"]}}
