"""A run under Shadow, from run.json to its tables.

In: a run directory. Out: its tables, and provenance.json last. Killed half-way, a run starts over.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.engines.folder_lock import folder_claimed
from torsweep.engines.prepare import RESULT_FILES
from torsweep.engines.run_spec import PROVENANCE_FILE, RUN_FILE, RunSpec, read_run
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE, read_network
from torsweep.provenance import machine, sha256_of_file
from torsweep.shadow.cores import claimed_cores
from torsweep.shadow.directory import Written, write_directory
from torsweep.shadow.keys import network_keys
from torsweep.shadow.logs import compress_logs
from torsweep.shadow.memory import require_memory
from torsweep.shadow.preflight import require_preflight
from torsweep.shadow.process import shadow_process
from torsweep.shadow.reading import write_tables
from torsweep.shadow.settings import BOOTSTRAP_NS, SECOND_NS, ShadowSettings
from torsweep.shadow.tools import Tools, find_tools
from torsweep.shadow.watch import Watch
from torsweep.storage import write_text
from torsweep.tor.torrc import consensus_parameters

SHADOW_FOLDER = "shadow"
"""Below a run directory: everything that Shadow reads and leaves."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Cost:
    """What a simulation cost."""

    wall_s: float
    peak_memory_bytes: int
    cpu_s: float
    cores: int


def _read_run(run_directory: Path) -> RunSpec:
    """The run in ``run_directory``; InputError when it is one that Shadow cannot run."""
    run = read_run(run_directory)
    file = run_directory / RUN_FILE
    if run.engine != "shadow":
        raise InputError("was prepared for another engine", file=file, key="engine", value=run.engine)
    if run.paths is not None:
        raise InputError("tor chooses its circuits itself", file=file, key="paths", accepted="null")
    try:
        consensus_parameters(run.tor)
    except ValueError as error:
        raise InputError(str(error), file=file, key="tor.congestion") from None
    return run


def write_run_directory(
    run_directory: Path, settings: ShadowSettings, tools: Tools, say: Say
) -> tuple[RunSpec, Written]:
    """Write everything that Shadow reads of the run in ``run_directory``.

    Raises InputError when run.json and its network do not belong together, or the network cannot be
    simulated; TorsweepError when tor cannot make its keys.
    """
    run = _read_run(run_directory)
    network_directory = run_directory / run.network
    network, rtt_us = read_network(network_directory)
    network_sha256 = sha256_of_file(network_directory / NETWORK_FILE)
    if network_sha256 != run.network_sha256:
        raise InputError(
            "the network is not the one that the run was prepared for",
            file=network_directory / NETWORK_FILE,
            value=network_sha256[:16],
            accepted=f"SHA-256 {run.network_sha256[:16]}…; prepare the run again",
        )
    started = time.monotonic()
    keys = network_keys(network, network_sha256, tools)
    keyed = time.monotonic()
    folder = run_directory / SHADOW_FOLDER
    written = write_directory(run, network, rtt_us, keys, tools, settings, folder)
    say(
        f"{folder}: {len(written.simulation.hosts)} hosts written in {time.monotonic() - keyed:.1f} s,"
        f" keys in {keyed - started:.1f} s"
    )
    return run, written


def run_shadow(run_directory: Path, settings: ShadowSettings, say: Say, *, keep_logs: bool = False) -> None:
    """Run the run in ``run_directory`` to its tables and provenance.

    Raises the errors of :func:`write_run_directory`; ToolMissing when a program is missing; TorsweepError
    when the simulation fails, is doomed or does not fit into memory; InputError for logs that cannot be
    read; OutputError when another engine is at work there.
    """
    _read_run(run_directory)
    tools = find_tools()
    with folder_claimed(run_directory, wait=False):
        for name in RESULT_FILES:
            (run_directory / name).unlink(missing_ok=True)
        preflight = require_preflight(tools, say)
        run, written = write_run_directory(run_directory, settings, tools, say)
        require_memory(written.simulation)
        cost = _simulate(run_directory / SHADOW_FOLDER, written, settings, tools, say)
        counters = write_tables(run_directory, run_directory / SHADOW_FOLDER)
        if not keep_logs:
            compress_logs(run_directory / SHADOW_FOLDER)
        provenance = _provenance(run_directory, run, written, settings, tools, cost, counters)
        provenance["preflight"] = preflight
        text = json.dumps(provenance, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_text(run_directory / PROVENANCE_FILE, text)


def _simulate(folder: Path, written: Written, settings: ShadowSettings, tools: Tools, say: Say) -> Cost:
    clients = [
        name
        for name in written.simulation.hosts
        if (folder / "template/hosts" / name / "tgen.graphml").exists()
    ]
    watch = Watch(folder, clients, BOOTSTRAP_NS / SECOND_NS, say)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (
        claimed_cores(settings.parallelism) as cores,
        shadow_process(tools.shadow, folder, cores) as process,
    ):
        wall_s = watch.follow(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall_s, watch.peak_bytes, cpu_s, len(cores))


def _provenance(
    run_directory: Path,
    run: RunSpec,
    written: Written,
    settings: ShadowSettings,
    tools: Tools,
    cost: Cost,
    counters: dict[str, Any],
) -> dict[str, Any]:
    simulated_s = written.simulation.stop_ns / SECOND_NS
    return {
        "engine": "shadow",
        "engine_version": tools.engine_version,
        "versions": tools.told,
        "tor": tools.tor_build,
        "run_sha256": sha256_of_file(run_directory / RUN_FILE),
        "network_sha256": run.network_sha256,
        "simulated_s": simulated_s,
        "wall_s": round(cost.wall_s, 1),
        "simulated_s_per_wall_s": round(simulated_s / cost.wall_s, 3),
        "cpu_s": round(cost.cpu_s, 1),
        "cores": cost.cores,
        "peak_memory_bytes": cost.peak_memory_bytes,
        "settings": settings.as_provenance(),
        "floored_pairs": written.floored_pairs,
        "machine": dict(machine()),
        "counters": counters,
    }
