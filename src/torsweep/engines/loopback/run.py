"""One run of the loopback engine.

In: a run directory with run.json, a build of tor. Out: streams.parquet, relays.parquet and, when asked for,
progress.parquet in it, and provenance.json, last. Whatever happens, no process is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import stem

from torsweep import __version__
from torsweep.engines.loopback.addresses import claim_block
from torsweep.engines.loopback.layout import Delay, Layout, check_size
from torsweep.engines.loopback.network import RunningNetwork, Say
from torsweep.engines.loopback.processes import ProcessSet, orderly_end
from torsweep.engines.loopback.read import progress_frame, relays_frame, streams_frame
from torsweep.engines.loopback.servers import HEADER
from torsweep.engines.loopback.traffic import Download, Generator
from torsweep.engines.prepare import RESULT_FILES
from torsweep.engines.run_spec import PROVENANCE_FILE, RUN_FILE, RunSpec, read_run
from torsweep.engines.table_schema import PROGRESS, RELAYS, STREAMS, TableSchema, validate
from torsweep.errors import InputError, OutputError, TorsweepError
from torsweep.folder_lock import folder_claimed
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.provenance import machine, sha256_of_file, versions
from torsweep.storage import whole_file, write_text
from torsweep.tor.build import BuiltTor

PROCESS_FOLDER = "processes"
READY_LIMIT_S = 240.0
CHECK_S = 0.5
SAY_S = 10.0
LAST_SECOND_S = 1.1
LEAD_S = 0.2
"""Between the end of preparations and the time that counts as 0."""

DISK_BYTES_PER_PROCESS = 5_000_000
"""Consensus, descriptors and log of a tor in a small network, generously."""


def run_loopback(
    run_directory: Path,
    tor: BuiltTor,
    *,
    delay: Delay = "proxy",
    progress: bool = False,
    ready_limit_s: float = READY_LIMIT_S,
    extra: tuple[str, ...] = (),
) -> None:
    """Run what run.json in ``run_directory`` says, and leave its tables there.

    ``progress`` tells on standard error how far it is; ``extra`` lines stand last in every torrc, and so win.
    Raises InputError for a run that cannot be run here,
    OutputError when the directory or the ports are not to be had, TorsweepError when the network fails.
    """
    run = read_run(run_directory)
    network_file = run_directory / run.network / NETWORK_FILE
    network, rtt_us = read_network(run_directory / run.network)
    _check_input(run, network, network_file)
    say = _speaker(progress)
    with folder_claimed(run_directory, wait=False), orderly_end():
        _clear(run_directory, network)
        started = time.monotonic()
        block = claim_block()
        processes = ProcessSet()
        sockets = Path(tempfile.mkdtemp(prefix="torsweep-"))
        folder = run_directory.resolve() / PROCESS_FOLDER
        layout = Layout(run, network, rtt_us, block, folder, sockets, delay, extra)
        running = RunningNetwork(layout, tor, processes, say, started + ready_limit_s)
        try:
            with _blamed(run_directory, processes):
                running.bring_up()
                ready_s = time.monotonic() - started
                zero_ns, end_ns, downloads = asyncio.run(_measure(running))
                memory_bytes = _peak_memory_bytes(processes)
        finally:
            # Processes first: a controller that is closed on a living tor waits for its answer.
            processes.stop()
            running.close()
            block.close()
            shutil.rmtree(sockets, ignore_errors=True)
        for place in [*layout.authorities, *layout.relays, *layout.clients]:
            shutil.rmtree(place.data, ignore_errors=True)
        samples = {name: meter.samples for name, meter in running.meters.items()}
        _write(run_directory, STREAMS, streams_frame(downloads, zero_ns))
        _write(run_directory, RELAYS, relays_frame(samples, zero_ns, end_ns))
        if run.tables.progress:
            _write(run_directory, PROGRESS, progress_frame(downloads, zero_ns))
        document = {
            "engine": "loopback",
            "engine_version": f"{__version__}, tor {tor.version}",
            "run_sha256": sha256_of_file(run_directory / RUN_FILE),
            "network_sha256": run.network_sha256,
            "simulated_s": round((end_ns - zero_ns) / 1e9, 3),
            "wall_s": round(time.monotonic() - started, 3),
            "ready_s": round(ready_s, 3),
            "peak_memory_bytes": memory_bytes,
            "delay": delay,
            "extra_torrc_lines": list(extra),
            "tor": tor.provenance,
            "counters": _counters(downloads),
            "versions": dict(versions()),
            "machine": dict(machine()),
        }
        write_text(run_directory / PROVENANCE_FILE, json.dumps(document, indent=1) + "\n")


def _check_input(run: RunSpec, network: Network, file: Path) -> None:
    if sha256_of_file(file) != run.network_sha256:
        raise InputError("is not the network that run.json was prepared for", file=file, key="network_sha256")
    check_size(network, file)
    for kind, traffic in run.traffic.items():
        if traffic.request_bytes < HEADER.size:
            raise InputError(
                "too short to say how long the answer shall be",
                key=f"traffic.{kind}.request_bytes",
                value=traffic.request_bytes,
                accepted=f"{HEADER.size} or more in loopback",
            )


def _clear(run_directory: Path, network: Network) -> None:
    """Make room: results of an earlier run and its processes' folders go."""
    for name in RESULT_FILES:
        (run_directory / name).unlink(missing_ok=True)
    shutil.rmtree(run_directory / PROCESS_FOLDER, ignore_errors=True)
    need = DISK_BYTES_PER_PROCESS * (len(network.relays) + len(network.authorities) + len(network.clients))
    free = shutil.disk_usage(run_directory).free
    if free < need:
        raise OutputError(
            f"{run_directory}: {free / 1e6:.0f} MB free; the processes may need {need / 1e6:.0f} MB"
        )
    (run_directory / PROCESS_FOLDER).mkdir()


async def _measure(running: RunningNetwork) -> tuple[int, int, list[Download]]:
    """Let the clients download; return the time that counts as 0, the end, and the downloads."""
    run = running.layout.run
    zero_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
    generator = Generator(running.layout, running.desks, zero_ns, progress=run.tables.progress)
    traffic = asyncio.ensure_future(generator.run())
    watch = asyncio.ensure_future(_watch(running, generator, zero_ns))
    try:
        await asyncio.wait([traffic, watch], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (watch, traffic):
            task.cancel()
        await asyncio.gather(traffic, watch, return_exceptions=True)
    # The watch only ends by itself when a process has.
    if not watch.cancelled():
        watch.result()
    traffic.result()
    end_ns = min(time.monotonic_ns(), zero_ns + run.duration_ns)
    # The relays' own second that the end falls into is still to come.
    await asyncio.sleep(LAST_SECOND_S)
    # Downloads that all failed at once end a run before the watch has looked why.
    running.processes.check()
    return zero_ns, end_ns, generator.downloads


async def _watch(running: RunningNetwork, generator: Generator, zero_ns: int) -> None:
    """Look after the processes, and say how far the downloads are."""
    duration_s = running.layout.run.duration_ns / 1e9
    said = time.monotonic()
    while True:
        await asyncio.sleep(CHECK_S)
        running.processes.check()
        if time.monotonic() - said >= SAY_S:
            said = time.monotonic()
            done = sum(download.outcome == "complete" for download in generator.downloads)
            megabytes = sum(download.got for download in generator.downloads) / 1e6
            running.say(
                f"{(time.monotonic_ns() - zero_ns) / 1e9:.0f} of at most {duration_s:.0f} s, {done} of"
                f" {len(generator.downloads)} downloads complete, {megabytes:.1f} MB"
            )


def _speaker(progress: bool) -> Say:
    started, said = time.monotonic(), [""]

    def say(line: str) -> None:
        if progress and line != said[0]:
            said[0] = line
            print(f"loopback: {time.monotonic() - started:.0f} s: {line}", file=sys.stderr, flush=True)

    return say


@contextlib.contextmanager
def _blamed(run_directory: Path, processes: ProcessSet) -> Iterator[None]:
    """What failed first is what is told of: a full disk, then a process, whatever it was that noticed."""
    try:
        yield
    except (TorsweepError, OSError, stem.ControllerError) as error:
        full = shutil.disk_usage(run_directory).free < os.statvfs(run_directory).f_frsize
        if full and not isinstance(error, OutputError):
            raise OutputError(f"{run_directory}: the disk is full") from error
        if isinstance(error, stem.ControllerError):
            # Most likely the tor behind it has gone, and its exit code is there in a moment.
            time.sleep(CHECK_S)
            processes.check()
            raise TorsweepError(f"tor's control port failed: {' '.join(str(error).split())}") from None
        raise


def _peak_memory_bytes(processes: ProcessSet) -> int:
    """The sum of the peaks of resident memory of all processes, this one's included."""
    total = 0
    for pid in ["self", *(str(child.handle.pid) for child in processes.children)]:
        with contextlib.suppress(OSError):
            peak = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
            total += int(peak[1]) * 1024 if peak else 0
    return total


def _counters(downloads: list[Download]) -> dict[str, int]:
    outcomes = [download.outcome for download in downloads]
    return {outcome: outcomes.count(outcome) for outcome in ("complete", "failed", "timeout", "unfinished")}


def _write(run_directory: Path, schema: TableSchema, frame: pl.DataFrame) -> None:
    file = run_directory / f"{schema.name}.parquet"
    validate(frame, schema, file)
    with whole_file(file) as temporary:
        frame.write_parquet(temporary, compression="zstd")
