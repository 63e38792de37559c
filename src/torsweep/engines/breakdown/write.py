"""The ``breakdown`` of a run of real tors.

In: the run directory with its cells and its downloads, the rings that the relays wrote, and the packets
between hosts. Out: the table, and for provenance.json what became of the followed downloads, and what was
found of the hosts' clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.engines.breakdown.cells import Cells
from torsweep.engines.breakdown.clocks import compare
from torsweep.engines.breakdown.join import Trace, join
from torsweep.engines.breakdown.passing import Packets
from torsweep.engines.breakdown.pcap import Captures, join_captures
from torsweep.engines.cell_ring import channels_frame, read_ring, scan_cells
from torsweep.engines.hosts import address
from torsweep.engines.table_schema import BREAKDOWN, STREAMS, write_table
from torsweep.network.model import read_network


@dataclass(frozen=True)
class Seen:
    """The packets that an engine recorded between hosts, with times of the run.

    ``packets`` are those that linkem wrote down by one clock, or the hosts' own captures. A pair of hosts is
    never closer than ``least_one_way_ns``; ``before_answer`` is that of :class:`.join.Trace`.
    """

    packets: pl.DataFrame | Captures
    least_one_way_ns: int = 0
    before_answer: Callable[[str], int] = lambda _: 0


def write_breakdown(
    run_directory: Path, network_directory: Path, rings: Mapping[str, Path], seen: Seen, one_in: int
) -> dict[str, Any]:
    """Follow one download in ``one_in`` and write the table; what provenance.json has of it.

    Hosts whose clocks contradict each other are taken to one clock where each host has a capture of its own;
    else no download is followed. Raises InputError for a file that is not whole.
    """
    network, latencies = read_network(network_directory)
    nodes = network.node_of

    @cache
    def one_way_ns(sender: str, receiver: str) -> int:
        rtt_us = int(latencies.between(nodes[sender], nodes[receiver]))
        return max(rtt_us * 1000 // 2, seen.least_one_way_ns)

    recorded = Recorded(
        cells=scan_cells(run_directory).collect(),
        channels=pl.concat(channels_frame(read_ring(file), host) for host, file in rings.items()),
        names={address(node): name for name, node in nodes.items()},
        streams=pl.read_parquet(run_directory / STREAMS.file),
    )
    trace, streams, unused = by_one_clock(recorded, seen, one_way_ns)
    frame, counts = join(trace, streams, one_in)
    write_table(run_directory, BREAKDOWN, frame)
    clocks = [clock.document() for clock in trace.clocks.hosts]
    return {"followed_downloads": counts, "clocks": clocks, **({"captures": unused} if unused else {})}


@dataclass(frozen=True)
class Recorded:
    """What tors and programs recorded, each by the clock of its host: tables ``cells`` and ``streams``, the
    channels of all relays, and the hosts' ``names`` by address."""

    cells: pl.DataFrame
    channels: pl.DataFrame
    names: Mapping[str, str]
    streams: pl.DataFrame


def by_one_clock(
    recorded: Recorded, seen: Seen, one_way_ns: Callable[[str, str], int]
) -> tuple[Trace, pl.DataFrame, dict[str, int]]:
    """The trace and the downloads by one clock, and how many captured packets are not in it, by reason."""
    cells, streams = Cells(recorded.cells, recorded.channels, recorded.names), recorded.streams
    if not isinstance(seen.packets, Captures):
        clocks = compare(cells.messages()).uncorrected()
        return Trace(cells, Packets(seen.packets), one_way_ns, seen.before_answer, clocks), streams, {}
    clocks = compare(pl.concat([cells.messages(), seen.packets.messages()]))
    if not clocks.one:
        corrected = clocks.by_one(recorded.cells, "host", "time_ns")
        cells = Cells(corrected, recorded.channels, recorded.names)
        # The durations of downloads stay as their clients measured them.
        starts = clocks.by_one(streams.with_columns(pl.col("start_us") * 1000), "client", "start_us")
        streams = starts.with_columns(pl.col("start_us") // 1000)
    packets, unused = join_captures(seen.packets.by_one(clocks))
    return Trace(cells, Packets(packets), one_way_ns, seen.before_answer, clocks), streams, unused


def write_no_breakdown(run_directory: Path) -> None:
    """Write the table without rows: no download was followed."""
    write_table(run_directory, BREAKDOWN, pl.DataFrame(schema=BREAKDOWN.polars))
