"""One run of the emulation engine.

In: a run directory with run.json, builds of tor, the link emulator. Out: its tables, and provenance.json,
last. Whatever happens, no process and no network namespace is left.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep import __version__
from torsweep.config.conflux import counted_conflux
from torsweep.engines.breakdown.join import Seen, write_breakdown, write_no_breakdown
from torsweep.engines.cell_ring import ring_bytes, write_cells
from torsweep.engines.circuit_paths import common_paths
from torsweep.engines.contract import Say, tor_working_bytes
from torsweep.engines.cost_tables import costs_frame, resident_bytes, round_trips_frame
from torsweep.engines.emulation.control import ControlClosed
from torsweep.engines.emulation.downloads import REQUEST_HEADER
from torsweep.engines.emulation.measuring import MeasuredRun, measure
from torsweep.engines.emulation.network import RunningNetwork
from torsweep.engines.emulation.pace import FellBehind
from torsweep.engines.emulation.process_layout import ProcessLayout, links_document
from torsweep.engines.emulation.processes import NotReady, ProcessSet, orderly_end
from torsweep.engines.emulation.programs import capture_command
from torsweep.engines.emulation.read import (
    Links,
    circuits_frame,
    progress_frame,
    read_links,
    read_packets,
    received_frame,
    relays_frame,
    streams_frame,
    wire_frame,
)
from torsweep.engines.emulation.rights import (
    FILES_PER_HOST,
    EmulationTools,
    cores,
    cores_claimed,
    processors_awake,
    session_first,
)
from torsweep.engines.emulation.tcp import TCP, settable
from torsweep.engines.host_tors import settings_frame
from torsweep.engines.programs import keep_files
from torsweep.engines.run_spec import RUN_FILE, RunSpec, clear_results, read_prepared, write_provenance
from torsweep.engines.table_schema import (
    CIRCUITS,
    COSTS,
    PROGRESS,
    RECEIVED,
    RELAYS,
    ROUND_TRIPS,
    SETTINGS,
    STREAMS,
    WIRE,
    write_table,
)
from torsweep.errors import InputError, OutputError
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, Network
from torsweep.provenance import machine, sha256_of_file, versions
from torsweep.storage import free_bytes, full_disk_blamed, whole_file
from torsweep.storage.folders import RUN_FOLDER, folder_claimed
from torsweep.tor.torrc import check_network

PROCESS_FOLDER = "processes"
"""The folder of a run directory in which its processes have their files."""

LINKS_FILE = "links.parquet"
"""What linkem did, second by second."""

PACKETS_FILE = "packets.parquet"
"""What passed linkem, until downloads have been followed."""

READY_LIMIT_S = 900.0
EXIT_CODE_S = 0.5
"""How long the exit code of a process may take after its control port has hung up."""


def run_emulation(
    run_directory: Path,
    tools: EmulationTools,
    *,
    progress: bool = False,
    tries: int = 1,
) -> None:
    """Run what run.json in ``run_directory`` says, and leave its tables there.

    ``progress`` tells on standard error how far it is; ``tries`` is which try this is, for the record. Raises
    InputError for a run that cannot be run here, OutputError when the directory is not to be had, ToolMissing
    without the right to make hosts, FellBehind behind real time, TorsweepError when the network fails.
    """
    run, network, network_directory = read_prepared(run_directory)
    _check_input(run, network, network_directory / NETWORK_FILE)
    tools.tors.check(run, network)
    say = _speaker(progress)
    with (
        cores_claimed(cores(len(network.hosts))),
        processors_awake() as awake,
        session_first(),
        folder_claimed(run_directory, RUN_FOLDER, wait=False),
        orderly_end(),
    ):
        _clear(run_directory, run, network)
        started = time.monotonic()
        folder = run_directory.resolve() / PROCESS_FOLDER
        tcp = TCP[run.era]
        # An older kernel does not have all settings of the era's TCP.
        sysctls, absent = settable(tcp.sysctls())
        recorded = _recorded(run, folder / PACKETS_FILE)
        latency = network_directory / LATENCY_FILE
        links = links_document(network, latency, tcp, sysctls, run.seed, folder / LINKS_FILE, recorded)
        with tempfile.TemporaryDirectory(prefix="torsweep-", ignore_cleanup_errors=True) as sockets:
            running = RunningNetwork(
                ProcessLayout(run, network, folder, Path(sockets)),
                tools.tors,
                tools.linkem,
                links,
                ProcessSet(),
                say,
                started + READY_LIMIT_S,
            )
            finished = _run_whole(run_directory, running)
        left = _leave_results(run_directory, network_directory, running, finished)
        wall = {
            "tries": tries,
            "wall_s": round(time.monotonic() - started, 3),
            "ready_s": round(finished.ready_at - started, 3),
            "processors_kept_awake": awake,
            "memory_at_end_bytes": finished.memory_at_end_bytes,
        }
        record = _record(run_directory, running, absent)
        place = {"versions": dict(versions()), "machine": dict(machine())}
        write_provenance(run_directory, {**record, **wall, **left, **place})


def _record(run_directory: Path, running: RunningNetwork, absent: Sequence[str]) -> dict[str, Any]:
    """Provenance of the run, its links and tors; ``absent`` are settings of TCP that this kernel lacks."""
    layout, tors, links = running.layout, running.tors, running.links
    return {
        "engine": "emulation",
        "engine_version": f"{__version__}, tor {tors.version}",
        "run_sha256": sha256_of_file(run_directory / RUN_FILE),
        "network_sha256": layout.run.network_sha256,
        "tcp": {**TCP[layout.run.era].document(), "not_in_this_kernel": list(absent)},
        "links": {key: links[key] for key in ("mtu_bytes", "up_queue", "down_queue", "loss")},
        "consensus_params": dict(running.parameters),
        **tors.facts(),
    }


@dataclass(frozen=True)
class _Finished:
    measured: MeasuredRun
    options: Mapping[str, Mapping[str, str]]
    ready_at: float
    memory_at_end_bytes: int


def _run_whole(run_directory: Path, running: RunningNetwork) -> _Finished:
    """Start all processes, run, and end them; none is left when this returns or raises."""

    async def live() -> _Finished:
        try:
            await running.bring_up()
            ready_at = time.monotonic()
            measured = await measure(running)
            return _Finished(
                measured,
                await running.options(),
                ready_at,
                resident_bytes([os.getpid(), *(each.handle.pid for each in running.processes.children)]),
            )
        except ControlClosed:
            # Most likely the tor behind it has gone, and its exit code is there in a moment.
            await asyncio.sleep(EXIT_CODE_S)
            running.processes.check()
            raise
        finally:
            running.close()

    with full_disk_blamed(run_directory):
        try:
            return asyncio.run(live())
        finally:
            running.say("ending all processes")
            running.processes.stop()


def _check_input(run: RunSpec, network: Network, file: Path) -> None:
    check_network(network, file)
    if run.tracing and run.tracing.packets:
        capture_command()
    for kind, traffic in run.traffic.items():
        if traffic.request_bytes < REQUEST_HEADER.size:
            raise InputError(
                "too short to say how long the answer shall be",
                key=f"traffic.{kind}.request_bytes",
                value=traffic.request_bytes,
                accepted=f"{REQUEST_HEADER.size} or more in emulation",
            )


def _clear(run_directory: Path, run: RunSpec, network: Network) -> None:
    """Remove results of an earlier run and its processes' folders."""
    clear_results(run_directory)
    shutil.rmtree(run_directory / PROCESS_FOLDER, ignore_errors=True)
    relays = len(network.relays)
    need = tor_working_bytes(relays + len(network.authorities) + len(network.clients), relays)
    need += len(run.tracing.hosts) * ring_bytes(run.tracing) if run.tracing else 0
    free = free_bytes(run_directory)
    if free < need:
        raise OutputError(
            f"{run_directory}: {free / 1e6:.0f} MB free; the processes may need {need / 1e6:.0f} MB"
        )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < FILES_PER_HOST * network.node_count:
        raise InputError(
            "too many hosts for the number of files that a process may have open here",
            key="hosts",
            value=network.node_count,
            accepted=f"at most {most // FILES_PER_HOST}, or a higher limit (ulimit -Hn)",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    (run_directory / PROCESS_FOLDER).mkdir()


def _speaker(progress: bool) -> Say:
    started = time.monotonic()

    def say(line: str) -> None:
        if progress:
            print(f"emulation: {time.monotonic() - started:.0f} s: {line}", file=sys.stderr, flush=True)

    return say


def _counters(measured: MeasuredRun) -> dict[str, int]:
    outcomes = [download.outcome for download in measured.downloads]
    return {outcome: outcomes.count(outcome) for outcome in ("complete", "failed", "timeout", "unfinished")}


def _write_tables(
    run_directory: Path, running: RunningNetwork, measured: MeasuredRun, links: Links
) -> dict[str, Any]:
    """Write the tables; what provenance counts in their circuits."""
    zero_ns, end_ns = measured.zero_ns, measured.end_ns
    samples = {name: meter.samples for name, meter in running.meters.items()}
    queued = {name: meter.queued_cells() for name, meter in running.meters.items()}
    circuits = {name: list(follower.circuits.values()) for name, follower in running.followers.items()}
    if running.layout.run.arti_hosts:
        # Circuits of those clients alone that tell of them would be compared with those of all.
        circuits = {}
    write_table(run_directory, STREAMS, streams_frame(measured.downloads, zero_ns))
    write_table(run_directory, RELAYS, relays_frame(samples, queued, zero_ns, end_ns))
    seen = circuits_frame(circuits, measured.downloads, zero_ns)
    write_table(run_directory, CIRCUITS, seen)
    write_table(run_directory, PROGRESS, progress_frame(measured.downloads, zero_ns))
    write_table(run_directory, RECEIVED, received_frame(measured.received))
    write_table(run_directory, WIRE, wire_frame(links))
    logs, lasted_us = running.layout.round_trip_logs, (end_ns - zero_ns) // 1000
    write_table(run_directory, ROUND_TRIPS, round_trips_frame(logs, measured.zero, lasted_us))
    write_table(run_directory, COSTS, costs_frame(measured.costs, running.layout.network, running.ready_us))
    with whole_file(run_directory / LINKS_FILE) as temporary:
        links.frame.write_parquet(temporary, compression="zstd")
    return {**common_paths(seen, running.layout.run.paths), **counted_conflux(seen)}


def _leave_results(
    run_directory: Path, network_directory: Path, running: RunningNetwork, finished: _Finished
) -> dict[str, Any]:
    """Write the tables of a run that has ended and clear its processes' folders; what provenance has of it.

    Raises FellBehind, before any table, where the machine did.
    """
    measured, layout, folder = finished.measured, running.layout, running.layout.folder
    zero_ns = measured.zero_ns
    links = read_links(folder / LINKS_FILE, zero_ns, measured.end_ns)
    measured.pace.refuse_late(folder, links.late_share)
    taken = _write_tables(run_directory, running, measured, links)
    traced = write_cells(run_directory, layout.rings, zero_ns) if layout.run.tracing else {}
    followed = _write_breakdown(run_directory, layout.run, network_directory, layout.rings, zero_ns)
    data = {place.name: place.data for place in layout.places}
    settings = settings_frame(layout.run, layout.network, running.tors, finished.options, data)
    write_table(run_directory, SETTINGS, settings)
    kept = keep_files(run_directory, measured.programs.programs, measured.programs.folder)
    for place in [*layout.places, *layout.services, *layout.own_tors]:
        shutil.rmtree(place.data, ignore_errors=True)
    for file in [*layout.rings.values(), *layout.round_trip_logs.values()]:
        file.unlink()
    return {
        "simulated_s": round((measured.end_ns - zero_ns) / 1e9, 3),
        "pace": measured.pace.document(),
        "late_share": round(links.late_share, 5),
        "linkem": links.summary,
        "counters": {**_counters(measured), **taken},
        "tracing": traced,
        **followed,
        **kept,
    }


def _recorded(run: RunSpec, packets: Path) -> tuple[Path, Sequence[str]] | None:
    """The file for packets and the hosts that it records, if downloads are followed."""
    tracing = run.tracing
    return (packets, tracing.hosts) if tracing and tracing.downloads and tracing.hosts else None


def _write_breakdown(
    run_directory: Path, run: RunSpec, network_directory: Path, rings: Mapping[str, Path], zero_ns: int
) -> dict[str, Any]:
    """Write the breakdown of a run that traces, and forget the packets; what provenance has of it."""
    if run.tracing is None:
        return {}
    folder = run_directory / PROCESS_FOLDER
    packets, summary = folder / PACKETS_FILE, (folder / LINKS_FILE).with_suffix(".json")
    if _recorded(run, packets) is None:
        write_no_breakdown(run_directory)
        return {}
    seen = Seen(read_packets(packets, summary, zero_ns))
    document = write_breakdown(run_directory, network_directory, rings, seen, run.tracing.downloads)
    packets.unlink()
    return document


TRIES = 3


def run_in_tries(run_directory: Path, tools: EmulationTools, *, progress: bool = False) -> None:
    """:func:`run_emulation`, up to :data:`TRIES` times while the run is late or its network does not come up.

    A line on standard error says so of each such try but the last. Raises FellBehind or NotReady, with what
    the last try said, after that; every other error of :func:`run_emulation` at once.
    """
    for number in range(1, TRIES + 1):
        try:
            run_emulation(run_directory, tools, progress=progress, tries=number)
            return
        except (FellBehind, NotReady) as failure:
            if number == TRIES:
                raise type(failure)(f"{failure}; tried {TRIES} times") from None
            print(f"emulation: try {number} of {TRIES}: {failure}; trying again", file=sys.stderr, flush=True)
