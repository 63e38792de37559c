"""What a traced run leaves besides its logs: the relays' rings and, where downloads are followed, the hosts'
captures.

In: a run directory with its ``streams`` table, and the folder that Shadow left. Out: the tables ``cells`` and
``breakdown``, and what provenance.json has of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torsweep.engines.addresses import address
from torsweep.engines.capsules.write import Seen, nodes_of, write_breakdown, write_no_breakdown
from torsweep.engines.cell_ring import RING_FILE
from torsweep.engines.cell_traces import write_cells
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.engines.shadow.captured import captured_hosts
from torsweep.engines.shadow.layout import HOSTS, read_layout
from torsweep.engines.shadow.read.captures import answer_header_bytes, read_captures
from torsweep.engines.shadow.settings import SECOND_NS
from torsweep.errors import InputError
from torsweep.network.model import read_network


def _rings(run: RunSpec, folder: Path) -> dict[str, Path]:
    hosts = run.tracing.hosts if run.tracing else ()
    return {host: folder / HOSTS / host / RING_FILE for host in hosts}


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
    names = {address(node): name for name, node in nodes_of(network).items()}
    captures, unused = read_captures(folder / HOSTS, captured, names, layout.bootstrap_ns)
    seen = Seen(captures, least_one_way_ns, answer_header_bytes)
    told = write_breakdown(run_directory, network_directory, rings, seen, run.tracing.downloads)
    return {**traced, **told, "captures": {**unused, **told["captures"]}}
