"""How fast the logs of a full-size Shadow run are read, beside the tools that come with TGen and OnionTrace.

    python -m bench.reading [--out bench/results/reading.json] [--rounds 3]

In: logs of up to 1,000 clients over eight simulated minutes, made up in the format of TGen 1.1.2 and
OnionTrace 1.0.0 with the lines that a run has. Out: one JSON file with the machine, and the same as a table
in Markdown beside it. In each round the readers take turns on the same files, each as a process of its own
with all cores; figures are medians, of wall time and, for a machine with other things to do, of CPU time.
``tgentools`` and ``oniontracetools`` are named as skipped where they are not on PATH. Where tgentools ran,
its times to first and last byte are compared with ours, one by one.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bench.writing import add_rounds, write_results
from tests.synthetic import Size, write_run
from tests.unit.engines.shadow.read.made_logs import (
    BOOTSTRAP_S,
    EPOCH_S,
    FINGERPRINTS,
    SERVERS,
    TRACE_OPENING,
    Download,
    Scene,
    carried,
    event,
    graph,
    path,
    stamp,
    tgen_opening,
)
from torsweep.engines.shadow.layout import HOSTS_FOLDER, Layout
from torsweep.provenance import machine, versions

ROOT = Path(__file__).resolve().parent.parent
DURATION_S = 480
PAUSE_S, LASTS_S = 15.5, 4.25

QUIET = "TGen's, as torsweep runs it"
BEATING = "TGen's with its heartbeat a second, the default"
TRACED = "TGen's and OnionTrace's"
RUN_KINDS = {QUIET: (1000, False, False), BEATING: (200, True, False), TRACED: (1000, False, True)}
"""Clients, whether TGen beats, whether OnionTrace ran."""

OURS = "import sys; from pathlib import Path; from torsweep.engines.shadow.read import write_tables;" \
    " write_tables(Path(sys.argv[1]), Path(sys.argv[1]) / 'shadow')"  # fmt: skip


@dataclass(frozen=True)
class Logs:
    """A run directory, and the size of its logs."""

    run: Path
    shadow: Path
    bytes_of_logs: int
    lines: int


def make_logs(folder: Path, clients: int, beats: bool, traced: bool) -> Logs:
    """Write a run of ``clients`` clients."""
    size = Size(1, 0, 1, 10, DURATION_S)
    run = write_run(folder, {"refill_interval": "100ms", "circuit_policy": "ewma"}, 1, size)
    shadow = run / "shadow"
    names = [f"web{number + 1}" for number in range(clients)]
    Layout(
        epoch_s=EPOCH_S,
        bootstrap_ns=BOOTSTRAP_S * 10**9,
        duration_ns=DURATION_S * 10**9,
        clients=dict.fromkeys(names, "web"),
        relays=FINGERPRINTS,
        authorities={},
        servers=SERVERS,
    ).write(shadow)
    written = 0
    for number, name in enumerate(names):
        begun_s = number * 60 / clients
        steps = int((DURATION_S - begun_s) / (PAUSE_S + LASTS_S)) + 1
        downloads = [
            Download(n + 1, begun_s + n * (PAUSE_S + LASTS_S), first_s=0.3 + 0.001 * number, ended_s=LASTS_S)
            for n in range(steps)
        ]
        finished = [download for download in downloads if download.end_s < DURATION_S]
        lines = [line.replace("host web1", f"host {name}") for line in _tgen(begun_s, finished, beats)]
        Scene.put(shadow, f"{name}/tgen.1004.stdout", lines)
        (shadow / HOSTS_FOLDER / name / "tgen.graphml").write_text(graph([PAUSE_S] * (steps + 1)))
        written += len(lines)
        if traced:
            lines = _opened(name) + _trace(downloads)
            Scene.put(shadow, f"{name}/oniontrace.1003.stdout", lines)
            written += len(lines)
    if traced:
        for relay in FINGERPRINTS:
            beat = [event(second + 0.7, f"650 BW {second * 7919 % 10**6} {second * 7919 % 10**6}")
                    for second in range(DURATION_S)]  # fmt: skip
            Scene.put(shadow, f"{relay}/oniontrace.1003.stdout", _opened(relay) + beat)
    size_of = sum(file.stat().st_size for file in (shadow / HOSTS_FOLDER).glob("*/*.stdout"))
    return Logs(run, shadow, size_of, written)


def _tgen(begun_s: float, finished: list[Download], beats: bool) -> list[str]:
    reports = [(download.end_s, download.report()) for download in finished]
    if beats:
        said = "[message] [tgen-driver.c:254] [_tgendriver_onHeartbeat] [driver-heartbeat] [bytes-read=51817,"
        said += "bytes-written=3204,streams-created=1,flows-created=1,total-streams-created=4,total-streams-"
        said += "succeeded=3,total-streams-pending=1,total-flows-created=4,total-flows-succeeded=3]"
        reports += [
            (begun_s + n, f"{stamp(begun_s + n)} {said}") for n in range(1, DURATION_S - int(begun_s))
        ]
    return [*tgen_opening(begun_s), *(line for _, line in sorted(reports))]


def _opened(name: str) -> list[str]:
    return [line.replace("host web1", f"host {name}") for line in TRACE_OPENING] + [
        # oniontracetools reads nothing before this line.
        f"{stamp(-41)} [message] [_oniontracedriver_onBootstrapped] Driver: torctl client is now ready"
        " (Bootstrapped 100)"
    ]


def _trace(downloads: list[Download]) -> list[str]:
    relays = path("relay1", "relay2", "relay3")
    about = "BUILD_FLAGS=NEED_CAPACITY PURPOSE=GENERAL TIME_CREATED=2000-01-01T00:01:00.000000"
    lines = [event(-40, f"4 BUILT {relays} {about}")]
    for circuit in range(5, 10):
        lines.append(event(circuit - 40, f"650 CIRC {circuit} LAUNCHED {about}"))
        lines.append(event(circuit - 40, f"650 CIRC {circuit} BUILT {relays} {about}"))
    for download in downloads:
        start_s, stream = download.start_s, download.number + 16
        lines += carried(stream, download.number, 4, start_s, 0.1)
        for second in range(4):
            when_s = start_s + 0.5 + second
            lines.append(event(when_s, f"650 STREAM_BW {stream} 0 76830 2000-01-01T00:00:00"))
        lines.append(event(start_s + LASTS_S, f"650 STREAM {stream} CLOSED 4 11.0.0.7:80 REASON=DONE"))
    return lines


def run_ours(logs: Logs, _: Path) -> None:
    """torsweep, from logs to tables."""
    subprocess.run([sys.executable, "-c", OURS, str(logs.run)], check=True)


def run_tgentools(logs: Logs, out: Path) -> None:
    """tgentools, from logs to its JSON."""
    pattern = r"tgen\.[0-9]+\.stdout$"
    _tool(
        "tgentools", "parse", "-m", _cores(), "-e", pattern, "-p", str(out), str(logs.shadow / HOSTS_FOLDER)
    )


def run_both_tools(logs: Logs, out: Path) -> None:
    """tgentools, then oniontracetools."""
    run_tgentools(logs, out)
    pattern = r"oniontrace\.[0-9]+\.stdout$"
    _tool(
        "oniontracetools",
        "parse",
        "-m",
        _cores(),
        "-e",
        pattern,
        "-p",
        str(out),
        str(logs.shadow / HOSTS_FOLDER),
    )


def _cores() -> str:
    return str(len(os.sched_getaffinity(0)))


def _tool(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def timed(reader: Callable[[Logs, Path], None], logs: Logs, out: Path) -> tuple[float, float]:
    """Wall and CPU time of a reader, s."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    reader(logs, out)
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def differences(logs: Logs, out: Path) -> int:
    """How many times to first or last byte tgentools and torsweep do not have in common."""
    with lzma.open(out / "tgen.analysis.json.xz", "rt") as file:
        nodes = json.load(file)["data"].values()
    streams = pl.read_parquet(logs.run / "streams.parquet").filter(pl.col("outcome") == "complete")
    unlike = 0
    for key, column in (("first", "first_byte_after_command_us"), ("last", "last_byte_after_command_us")):
        theirs = sorted(
            round(seconds * 1e6)
            for node in nodes
            for by_second in node["tgen"]["stream_summary"][f"time_to_{key}_byte_recv"].values()
            for times in by_second.values()
            for seconds in times
        )
        ours = streams[column].sort().to_list()
        unlike += abs(len(ours) - len(theirs))
        unlike += sum(a != b for a, b in zip(ours, theirs, strict=False))
    return unlike


def measure(scratch: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """The figures of each kind of logs."""
    results: dict[str, dict[str, Any]] = {}
    for number, (kind, (clients, beats, traced)) in enumerate(RUN_KINDS.items()):
        logs = make_logs(scratch / str(number), clients, beats, traced)
        tools = ("tgentools", "oniontracetools") if traced else ("tgentools",)
        missing = [tool for tool in tools if shutil.which(tool) is None]
        readers: dict[str, Callable[[Logs, Path], None]] = {"torsweep": run_ours}
        if not missing:
            readers["tools"] = run_both_tools if traced else run_tgentools
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in readers}
        for _ in range(rounds):
            for name, reader in readers.items():
                times[name].append(timed(reader, logs, scratch))
                wall_s, cpu_s = times[name][-1]
                print(f"{kind}: {name}: {wall_s:.2f} s, CPU {cpu_s:.2f} s", file=sys.stderr)
        row: dict[str, Any] = {"clients": clients, "log_bytes": logs.bytes_of_logs, "lines": logs.lines}
        row["skipped"] = missing
        for index, clock in enumerate(("wall", "cpu")):
            measured = {name: [pair[index] for pair in pairs] for name, pairs in times.items()}
            row |= {f"{name}_{clock}_s": statistics.median(values) for name, values in measured.items()}
            if not missing:
                ratios = [b / a for a, b in zip(measured["torsweep"], measured["tools"], strict=True)]
                row[f"{clock}_ratio"] = statistics.median(ratios)
        if not missing:
            row["times_unlike_tgentools"] = differences(logs, scratch)
        results[kind] = row
        shutil.rmtree(scratch / str(number))
    return results


def table(results: dict[str, dict[str, Any]], rounds: int, peak_bytes: int) -> str:
    """The results as a page of Markdown."""
    here = machine()
    lines = [
        "# Reading logs",
        "",
        f"{here['cpu']}, {here['cores']} cores; {here['os']}; polars {versions().get('polars')}.",
        f"{DURATION_S} simulated s of web clients. Medians of {rounds} rounds, by `python -m bench.reading`:",
        "each reader is a process with all cores, from its start to the files that it writes, in turns on",
        "the same logs. The tools are tgentools, and oniontracetools where OnionTrace's logs are read, too.",
        "Unlike: times to first and last byte in which torsweep and tgentools differ.",
        "",
        "| logs | clients | MB | torsweep: wall, CPU s | tools: wall, CPU s | ratio: wall, CPU | unlike |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, row in results.items():
        cells = [kind, str(row["clients"]), f"{row['log_bytes'] / 1e6:.0f}"]
        cells.append(f"{row['torsweep_wall_s']:.2f}, {row['torsweep_cpu_s']:.2f}")
        if row["skipped"]:
            cells += [f"skipped: no {', '.join(row['skipped'])} on PATH", "–", "–"]
        else:
            cells.append(f"{row['tools_wall_s']:.2f}, {row['tools_cpu_s']:.2f}")
            cells.append(f"{row['wall_ratio']:.1f}, {row['cpu_ratio']:.1f}")
            cells.append(str(row["times_unlike_tgentools"]))
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"Peak memory of torsweep, 1,000 clients with heartbeats and traces: {peak_bytes / 1e6:.0f} MB.",
    ]
    return "\n".join(lines) + "\n"


def peak_memory_of_ours(scratch: Path) -> int:
    """Peak memory of reading the largest logs, bytes: in a process that has no other child."""
    logs = make_logs(scratch / "memory", 1000, True, True)
    probe = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True);"
        " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    asked = [sys.executable, "-c", probe, OURS, str(logs.run)]
    return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout) * 1024


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description="Measure the reading of logs.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/reading.json")
    add_rounds(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        results = measure(Path(place), arguments.rounds)
        peak_bytes = peak_memory_of_ours(Path(place))
    record = {"rounds": arguments.rounds, "results": results, "peak_memory_bytes": peak_bytes}
    write_results(arguments.out, record, table(results, arguments.rounds, peak_bytes))


if __name__ == "__main__":
    main()
