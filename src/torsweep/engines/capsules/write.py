"""The ``breakdown`` of a run of real tors.

In: the run directory with its cells and its downloads, the rings that the relays wrote, and the packets that
linkem saw; all times are of one clock. Out: the table, and for provenance.json what became of the followed
downloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from torsweep.engines.addresses import address
from torsweep.engines.capsules.cells import Cells
from torsweep.engines.capsules.join import Trace, join
from torsweep.engines.capsules.packets import Packets
from torsweep.engines.cell_ring import channels_frame, read_ring
from torsweep.engines.cell_traces import scan_cells
from torsweep.engines.table_schema import BREAKDOWN, validate
from torsweep.formats.json_file import read_json
from torsweep.network.model import Network, read_network
from torsweep.storage import whole_file

BREAKDOWN_TABLE = "breakdown.parquet"


def write_breakdown(
    run_directory: Path,
    network_directory: Path,
    rings: Mapping[str, Path],
    packets: Path,
    links_summary: Path,
    zero_ns: int,
    one_in: int,
) -> dict[str, int]:
    """Follow one download in ``one_in`` and write the table; the counts of :func:`.join.join`.

    ``packets`` counts from the start of linkem, which ``links_summary`` dates; ``zero_ns`` is the run's time
    0. Raises InputError for a file that is not whole.
    """
    network, rtt_us = read_network(network_directory)
    nodes = _nodes(network)
    names = {address(node): name for name, node in nodes.items()}
    ahead_ns = read_json(links_summary)["started_monotonic_ns"] - zero_ns
    seen = pl.read_parquet(packets).with_columns(pl.col("sent_ns", "done_ns") + ahead_ns)
    channels = pl.concat(channels_frame(read_ring(file), host) for host, file in rings.items())

    def one_way_ns(sender: str, receiver: str) -> int:
        return int(rtt_us[nodes[sender], nodes[receiver]]) * 1000 // 2

    trace = Trace(Cells(scan_cells(run_directory).collect(), channels, names), Packets(seen), one_way_ns)
    frame, counts = join(trace, pl.read_parquet(run_directory / "streams.parquet"), one_in)
    write_frame(run_directory, frame)
    return counts


def write_no_breakdown(run_directory: Path) -> None:
    """Write the table without rows: no download was followed."""
    write_frame(run_directory, pl.DataFrame(schema=BREAKDOWN.polars))


def write_frame(run_directory: Path, frame: pl.DataFrame) -> None:
    """Write ``frame`` as the table, as a whole."""
    file = run_directory / BREAKDOWN_TABLE
    validate(frame, BREAKDOWN, file)
    with whole_file(file) as temporary:
        frame.write_parquet(temporary, compression="zstd")


def _nodes(network: Network) -> dict[str, int]:
    nodes = {relay.name: relay.node for relay in network.relays}
    nodes |= {authority.name: authority.node for authority in network.authorities}
    nodes |= {client.name: client.node for client in network.clients}
    return nodes | {server.name: server.node for server in network.servers}
