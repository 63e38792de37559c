"""What it takes to sample a network, at full size, tenfold and hundredfold.

    python -m bench.sampling [--rounds 3] [--out docs/tables/sampling.csv]

In: the network configuration ``paper``. Out: for each size the hosts, the wall and processor time of the
whole command ``torsweep network sample``, medians over rounds, its peak memory, and the bytes of the folder.
Sizes take turns, so that a machine that slows down slows all of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench.rounds import add_rounds
from bench.writing import csv_text
from torsweep.config.network import load_network_config
from torsweep.storage import write_text

SIZES = {"paper": 1, "tenfold": 10, "hundredfold": 100}
COUNTS = ("relays", "web_clients", "bulk_clients", "servers")
COLUMNS = ("size", "hosts", "wall_s", "cpu_s", "peak_mb", "json_mb", "latency_mb")


def sampled(times: int, folder: Path) -> dict[str, float]:
    """Sample a network of so many ``times`` the hosts into ``folder``; what that took."""
    paper = load_network_config("paper")
    counts = {name: getattr(paper, name) * times for name in COUNTS}
    command = [sys.executable, "-m", "torsweep", "network", "sample", "paper", "--seed=1", f"--out={folder}"]
    command += [f"--set={name}={count}" for name, count in counts.items()]
    started = time.perf_counter()
    _, status, used = os.wait4(os.posix_spawn(sys.executable, command, os.environ), 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "hosts": sum(counts.values()) + paper.authorities,
        "wall_s": time.perf_counter() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss * 1024 / 1e6,
        "json_mb": (folder / "network.json").stat().st_size / 1e6,
        "latency_mb": (folder / "latency.npy").stat().st_size / 1e6,
    }


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description="What it takes to sample networks of three sizes.")
    add_rounds(parser)
    parser.add_argument("--out", type=Path, default=Path("docs/tables/sampling.csv"))
    arguments = parser.parse_args()
    found = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(arguments.rounds):
            for size, times in SIZES.items():
                found[size].append(sampled(times, Path(scratch) / size))
    rows = [
        {"size": size}
        | {name: round(statistics.median(row[name] for row in of_size), 3) for name in COLUMNS[1:]}
        for size, of_size in found.items()
    ]
    write_text(arguments.out, csv_text(COLUMNS, rows))


if __name__ == "__main__":
    main()
