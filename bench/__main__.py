"""How fast networks are sampled and cellsim runs, at full size and at ten times the relays and clients.

    python -m bench [--out bench/results/speed.json] [--rounds 3]

In: the network configuration ``paper``, and the experiment ``refill_sweep``. Out: one JSON file with the
machine; the same is printed as a table. Sizes and variants take turns in each round, so a
machine that slows down slows all of them; each figure is the median over rounds, but for sampling at tenfold
size, which is measured once.

The last rows divide the time of a cell-hop at tenfold size by that at full size, over the 3 + 5 minutes of an
experiment's runs and over 1 + 1 minutes, in which circuits are new and queues are filling. Processor time
stands beside wall time, which other work on the machine lengthens.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from bench.writing import add_rounds, end_with, write_results
from torsweep.provenance import machine, versions

ROOT = Path(__file__).resolve().parent.parent
TENFOLD = {"relays": 500, "web_clients": 9_500, "bulk_clients": 500, "servers": 2_000}
VARIANTS = {
    "10 ms, EWMA, 2012": ("2012", "refill_interval=10ms+circuit_policy=ewma"),
    "1000 ms, round-robin, 2012": ("2012", "refill_interval=1000ms+circuit_policy=round_robin"),
    "100 ms, EWMA, today": ("today", "refill_interval=100ms+circuit_policy=ewma"),
}
SAMPLING, SAMPLING_ONCE = "sampling", "sampling (once)"
DURATIONS = {
    "3 + 5 min": ("warm_up=3 min", "measured=5 min"),
    "1 + 1 min": ("warm_up=1 min", "measured=1 min"),
}
SIZES = ("full", "tenfold")
SPEED_NUMBERS = ("simulated_s_per_wall_s", "cell_hops_per_wall_s", "peak_memory_bytes", "wall_s", "cell_hops")


def torsweep(*arguments: str) -> float:
    """Run a torsweep command; its wall time as a process, s."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "torsweep", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    return time.perf_counter() - started


def sample(folder: Path, size: str) -> float:
    """Sample the network of ``size`` into ``folder``; the wall time, s."""
    changes = [f"--set={key}={value}" for key, value in TENFOLD.items()] if size == "tenfold" else []
    return torsweep("network", "sample", "paper", "--seed=1", f"--out={folder}", *changes)


def prepared(folder: Path, network: Path, variant: str, durations: tuple[str, str]) -> Path:
    """A run directory for ``variant``."""
    era, key = VARIANTS[variant]
    changes = [f"--set={change}" for change in durations]
    engine = ("--engine=cellsim", f"--era={era}", f"--variant={key}")
    torsweep("run", "prepare", "refill_sweep", f"--network={network}", f"--out={folder}", *engine, *changes)
    return folder


def run(folder: Path) -> dict[str, float]:
    """Run ``folder``; what its provenance says of speed, and its processor time, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cellsim", "run", str(folder)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {figure: provenance[figure] for figure in SPEED_NUMBERS} | {"cpu_s": cpu_s}


def measure(scratch: Path, rounds: int) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield (size, what, figures) for each measurement; the size of a run has its simulated time in it."""
    sample(scratch / "full", "full")
    yield "tenfold", SAMPLING_ONCE, {"wall_s": sample(scratch / "tenfold", "tenfold")}
    runs = {}
    for size, simulated, variant in product(SIZES, DURATIONS, VARIANTS):
        place = scratch / f"run-{len(runs)}"
        runs[f"{size}, {simulated}", variant] = prepared(place, scratch / size, variant, DURATIONS[simulated])
    for _ in range(rounds):
        yield "full", SAMPLING, {"wall_s": sample(scratch / "full-again", "full")}
        for (size, variant), folder in runs.items():
            yield size, variant, run(folder)


def medians(measured: Iterator[tuple[str, str, dict[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """The median of each figure by size and by what was measured."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for size, what, figures in measured:
        found[size, what].append(figures)
        print(f"{size}: {what}: {figures['wall_s']:.2f} s", file=sys.stderr)
    results: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for (size, what), rows in found.items():
        results[size][what] = {figure: statistics.median(row[figure] for row in rows) for figure in rows[0]}
    return dict(results)


def ratios(results: dict[str, dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """The time of a cell-hop at tenfold size over that at full size, by simulated time and variant."""
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for simulated, variant in product(DURATIONS, VARIANTS):
        full, tenfold = (results[f"{size}, {simulated}"][variant] for size in SIZES)
        found[simulated][variant] = {
            f"{spent}_per_cell_hop": (tenfold[spent] / tenfold["cell_hops"])
            / (full[spent] / full["cell_hops"])
            for spent in ("wall_s", "cpu_s")
        }
    return dict(found)


def table(results: dict[str, dict[str, dict[str, float]]], rounds: int) -> str:
    """The results as a page of Markdown."""
    here = machine()
    head = f"{here['cpu']}, {here['cores']} cores; {here['os']}; cellsim {versions().get('cellsim')}"
    lines = [
        "# Speed",
        "",
        f"{head}. Medians of {rounds} rounds, one run at a time, by `python -m bench`.",
        "",
        "| size | what | simulated s per wall s | million cell-hops per s | peak MB | wall s | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for size, rows in results.items():
        for what, row in rows.items():
            if what in (SAMPLING, SAMPLING_ONCE):
                lines.append(f"| {size} | {what} | – | – | – | {row['wall_s']:.1f} | – |")
                continue
            speed, hops = row["simulated_s_per_wall_s"], row["cell_hops_per_wall_s"] / 1e6
            memory = row["peak_memory_bytes"] / 1e6
            times = f"{row['wall_s']:.1f} | {row['cpu_s']:.1f}"
            lines.append(f"| {size} | {what} | {speed:.1f} | {hops:.1f} | {memory:.0f} | {times} |")
    lines += ["", "Time of a cell-hop at tenfold size over that at full size:", ""]
    lines += ["| simulated | what | wall time | processor time |", "|---|---|---|---|"]
    for simulated, rows in ratios(results).items():
        for what, row in rows.items():
            times = f"{row['wall_s_per_cell_hop']:.2f} | {row['cpu_s_per_cell_hop']:.2f}"
            lines.append(f"| {simulated} | {what} | {times} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description="Measure sampling and cellsim.")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/speed.json")
    add_rounds(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        results = medians(measure(Path(scratch), arguments.rounds))
    over = {f"tenfold over full, {simulated}": rows for simulated, rows in ratios(results).items()}
    record = {"rounds": arguments.rounds, "results": results | over}
    write_results(arguments.out, record, table(results, arguments.rounds))


if __name__ == "__main__":
    end_with(main)
