"""A run under Shadow, from run.json to its tables.

In: a run directory. Out: its tables, and provenance.json last. What can be refused is refused before the
simulation. Killed half-way, a run starts over; a simulation that has ended is read again, not made again.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.engines.contract import Say
from torsweep.engines.cost_tables import costs_frame
from torsweep.engines.host_tors import Consensus, HostTors, read_consensus, require_consensus
from torsweep.engines.programs import captures, keep_files, kept_files
from torsweep.engines.run_spec import (
    RUN_FILE,
    RunSpec,
    clear_results,
    read_prepared,
    read_run,
    write_provenance,
)
from torsweep.engines.shadow.directory import Written, simulated_programs, write_directory
from torsweep.engines.shadow.keys import network_keys
from torsweep.engines.shadow.process import claimed_cores, shadow_process
from torsweep.engines.shadow.read import write_tables, write_traced_tables
from torsweep.engines.shadow.read.logs import TEXT, find_logs, parse_logs
from torsweep.engines.shadow.settings import ask_options, write_settings
from torsweep.engines.shadow.simulate import (
    HOSTS_FOLDER,
    SHADOW_FOLDER,
    ShadowSettings,
    compress_logs,
    read_layout,
)
from torsweep.engines.shadow.tools import MEASURING, NOT_MEASURING, ShadowTools, find_tools, require_preflight
from torsweep.engines.shadow.tornet_run import find_tornet, write_tornet_run, write_tornet_tables
from torsweep.engines.shadow.watch import Watch, read_costs
from torsweep.engines.table_schema import COSTS, SETTINGS, write_table
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.network.model import read_latency, read_network
from torsweep.provenance import PROVENANCE_FILE, machine, sha256_of_file
from torsweep.storage import full_disk_blamed, whole_file, write_text
from torsweep.storage.folders import RUN_FOLDER, folder_claimed
from torsweep.tor.arti_client import READY
from torsweep.tor.torrc import consensus_parameters
from torsweep.units import SECOND_NS

RECORD_FILE = "simulated.json"
"""Written when a simulation has come to its end: its provenance but for what the tables hold."""


def _read_run(run_directory: Path) -> RunSpec:
    """The run in ``run_directory``; InputError when it is one that Shadow cannot run."""
    run = read_run(run_directory)
    file = run_directory / RUN_FILE
    if run.engine not in (MEASURING, NOT_MEASURING):
        raise InputError("was prepared for another engine", file=file, key="engine", value=run.engine)
    consensus_parameters(run.tor)
    return run


def write_run_directory(
    run_directory: Path, settings: ShadowSettings, tools: ShadowTools, say: Say
) -> tuple[RunSpec, Written]:
    """Write everything that Shadow reads of the run in ``run_directory``. InputError when run.json and its
    network do not belong together, the network cannot be simulated, or a build of tor lacks what the run asks
    for; TorsweepError when tor cannot make its keys."""
    run, network, network_directory = read_prepared(run_directory)
    if not network.tornettools:
        tools.tors.check(run, network)
    elif run.arti_hosts:
        raise InputError("Arti is not for networks of tornettools", key="tor", accepted="a sampled network")
    started = time.monotonic()
    folder = run_directory / SHADOW_FOLDER
    if network.tornettools:
        tornet = find_tornet(network, network_directory)
        simulation = write_tornet_run(run, tornet, tools, settings, folder)
        written = Written(simulation, 0, ready_ns=tornet.bootstrap_ns, may_be_late=1.0)
        say(f"{folder}: {len(written.simulation.hosts)} hosts of {tornet.folder}")
        return run, written
    latencies = read_latency(network_directory, network)
    keys = network_keys(network, run.network_sha256, tools)
    keyed = time.monotonic()
    written = write_directory(run, network, latencies, keys, tools, settings, folder)
    say(
        f"{folder}: {len(written.simulation.hosts)} hosts written in {time.monotonic() - keyed:.1f} s,"
        f" keys in {keyed - started:.1f} s"
    )
    return run, written


def run_shadow(run_directory: Path, settings: ShadowSettings, say: Say, *, keep_logs: bool = False) -> None:
    """Run the run in ``run_directory`` to its tables and provenance.

    A simulation that came to its end and was killed before its tables were whole is not simulated again.
    Raises the errors of :func:`write_run_directory`; ToolMissing when a program is missing; TorsweepError
    when the simulation fails or is doomed; InputError for logs that cannot be read, or a run for another
    engine or kind of Shadow; OutputError when another engine is at work there, or the disk is full.
    """
    run = _read_run(run_directory)
    tools = find_tools(run)
    if run.engine != tools.engine:
        raise InputError(
            f"was prepared for another Shadow than {tools.shadow}: {tools.round_trips.text}",
            file=run_directory / RUN_FILE,
            key="engine",
            value=run.engine,
            accepted=f"{tools.engine}; prepare the run again",
        )
    with folder_claimed(run_directory, RUN_FOLDER, wait=False):
        record = _standing_record(run_directory, settings, tools)
        clear_results(run_directory)
        with full_disk_blamed(run_directory):
            if record is None:
                record = simulate_and_record(run_directory, settings, tools, say)
            _finish(run_directory, record, tools.tors, keep_logs=keep_logs)


def _standing_record(
    run_directory: Path, settings: ShadowSettings, tools: ShadowTools
) -> dict[str, Any] | None:
    """The record of a finished simulation of this run, settings and tools that has no tables yet."""
    file = run_directory / SHADOW_FOLDER / RECORD_FILE
    if (run_directory / PROVENANCE_FILE).exists() or not file.exists():
        return None
    record = read_json(file)
    expected = {
        "run_sha256": sha256_of_file(run_directory / RUN_FILE),
        "engine_version": tools.engine_version,
        "settings": settings.as_provenance(),
    }
    return record if all(record.get(key) == value for key, value in expected.items()) else None


def simulate_and_record(
    run_directory: Path, settings: ShadowSettings, tools: ShadowTools, say: Say
) -> dict[str, Any]:
    """Simulate the run; its record, which is left beside the logs."""
    preflight = require_preflight(tools, say)
    run, written = write_run_directory(run_directory, settings, tools, say)
    folder = run_directory / SHADOW_FOLDER
    data = folder / HOSTS_FOLDER
    clients = list(read_layout(folder).clients)
    network, _ = read_network(run_directory / run.network, latency=False)
    ask_options(folder, network, written.simulation.hosts, tools.tors, say)
    # The consensus of the clients is what decides; all of them have the same, but one that is late has none.
    # Arti keeps it in a database: where all clients run Arti, relays are looked at.
    hosts = (*clients, *(relay.name for relay in network.relays))

    def consensus() -> Consensus:
        each = (read_consensus(data / host) for host in hosts)
        return next((one for one in each if one.relays), Consensus({}, {}))

    def check_network() -> None:
        # A network of tornettools has a timetable of its own.
        if not network.tornettools:
            require_consensus(consensus(), network, run.given.consensus)

    watch = Watch(
        folder,
        clients,
        written.ready_ns / SECOND_NS,
        say,
        may_be_late=written.may_be_late,
        check_network=check_network,
        check_programs=lambda: [kept_files(each, data / each.host) for each in written.programs],
    )
    cost = _simulate(watch, written, settings, tools)
    record = {
        **({"tornettools": network.tornettools} if network.tornettools else {}),
        **_provenance(run_directory, run, written, settings, tools, cost, consensus().parameters),
        "preflight": {**preflight, "round_trip": asdict(tools.round_trips)},
    }
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    write_text(folder / RECORD_FILE, text + "\n")
    return record


def _finish(run_directory: Path, record: dict[str, Any], tors: HostTors, *, keep_logs: bool) -> None:
    folder = run_directory / SHADOW_FOLDER
    run, network, _ = read_prepared(run_directory)
    counters = (write_tornet_tables if network.tornettools else write_tables)(run_directory, folder)
    starts = read_starts(folder / HOSTS_FOLDER, [client.name for client in network.tor_clients])
    write_table(run_directory, COSTS, costs_frame(read_costs(folder), network, starts))
    if not (folder / SETTINGS.file).is_file():  # Before the compressing of logs, which could be broken off.
        write_settings(folder, run, network, tors)
    with whole_file(run_directory / SETTINGS.file) as place:
        shutil.copyfile(folder / SETTINGS.file, place)
    traced = write_traced_tables(run_directory, folder, record["settings"]["latency_floor_us"] * 1000)
    layout = read_layout(folder)
    programs = simulated_programs(run, network, run_directory, {**layout.relays, **layout.authorities})
    kept = keep_files(run_directory, [*programs, *captures(run)], (folder / HOSTS_FOLDER).joinpath)
    if not keep_logs:
        compress_logs(folder)
    write_provenance(run_directory, {**record, "counters": counters, **traced, **kept})


def _simulate(watch: Watch, written: Written, settings: ShadowSettings, tools: ShadowTools) -> dict[str, Any]:
    """Run the simulation to its end; what it cost, as provenance has it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (
        claimed_cores(settings.parallelism) as cores,
        shadow_process(tools.shadow, watch.folder, cores) as process,
    ):
        wall_s = watch.follow(process)
    watch.tors.write(watch.folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    simulated_s = written.simulation.stop_ns / SECOND_NS
    return {
        "simulated_s": simulated_s,
        "wall_s": round(wall_s, 1),
        "simulated_s_per_wall_s": round(simulated_s / wall_s, 3),
        "cpu_s": round(cpu_s, 1),
        "cores": len(cores),
        "peak_memory_bytes": watch.peak_bytes,
    }


def _provenance(
    run_directory: Path,
    run: RunSpec,
    written: Written,
    settings: ShadowSettings,
    tools: ShadowTools,
    cost: dict[str, Any],
    parameters: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "engine": run.engine,
        "engine_version": tools.engine_version,
        "versions": tools.version_lines,
        **tools.tors.facts(),
        "consensus_params": dict(parameters),
        "run_sha256": sha256_of_file(run_directory / RUN_FILE),
        "network_sha256": run.network_sha256,
        **cost,
        "settings": settings.as_provenance(),
        "floored_pairs": written.floored_pairs,
        "machine": dict(machine()),
    }


_ENOUGH = ("Bootstrapped 75% (enough_dirinfo)", READY)
_TOR_TIME, _ARTI_TIME = r"^\w{3} \d\d (\d\d:\d\d:\d\d\.\d{3}) \[", r"^\S+T(\d\d:\d\d:\d\d\.\d{3})Z "
"""How lines of tor and of Arti begin. A simulation begins at midnight, so the day does not matter."""


@dataclass(frozen=True)
class _Lines:
    frame: pl.DataFrame


def read_starts(hosts: Path, clients: Sequence[str]) -> dict[str, int]:
    """Client → the time that its start took; without those whose log does not say so."""
    logs = [*find_logs(hosts, "tor", clients), *find_logs(hosts, "arti", clients, "stderr")]
    enough = pl.any_horizontal(*(TEXT.str.contains(words, literal=True) for words in _ENOUGH))
    lines = parse_logs(logs, lambda frame: _Lines(frame.filter((pl.col("line") == 1) | enough))).frame
    starts: dict[str, int] = {}
    for (log, *_), found in lines.sort("log", "line").group_by("log", maintain_order=True):
        times = [_time(text) for text in found["text"][:2]]
        if len(times) == 2 and times[0] and times[1]:
            starts[logs[int(str(log))].host] = (times[1] - times[0]) // timedelta(microseconds=1)
    return starts


def _time(line: str) -> datetime | None:
    match = re.match(_TOR_TIME, line) or re.match(_ARTI_TIME, line)
    return datetime.strptime(match[1], "%H:%M:%S.%f") if match is not None else None
