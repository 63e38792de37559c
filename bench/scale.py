"""What a network of each size costs: time, memory and disk of sampling it and of a run in the model.

    python -m bench.scale docs/tables/scale_cost.csv paper=1 paper=10 live=0.01 live=0.1
        [--variant '100 ms, EWMA, today'] [--warm-up '1 min'] [--measured '1 min'] [--rounds 3]

In: networks, each with a size: above 1 it multiplies the counts of relays, clients and servers, below 1 it
is the network's ``scale``; and variants of ``python -m bench``. Out: a CSV file with a row for each network,
size and variant (:data:`COLUMNS`); rows of the same that it has already are replaced, and others stay.

Sizes take turns in each round, one process at a time. ``cpu_s`` is the least processor time of the rounds,
user and system, reading the network included; ``ns_per_cell_hop`` is of it. Memory by part is that at the
run's end, as the model counts it; ``peak_mb`` is what the process had resident at most. A MB has 10^6 bytes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bench.__main__ import ROOT, VARIANTS, prepared
from bench.writing import csv_text
from torsweep.config.network import load_network_config
from torsweep.storage import write_text

COUNTS = ("relays", "web_clients", "bulk_clients", "servers")
KEY = ("network", "size", "variant")
PARTS = ("hosts", "connections", "circuits", "streams")
COLUMNS = (
    *KEY,
    "relays",
    "simulated_s",
    "events_m",
    "cell_hops_m",
    "cpu_s",
    "cpu_s_per_s",
    "ns_per_cell_hop",
    "peak_mb",
    *(column for part in PARTS for column in (part, f"{part}_mb", f"bytes_of_{part}")),
    "events_mb",
    "run_disk_mb",
    "sampling_s",
    "sampling_peak_mb",
    "network_disk_mb",
)
MB = 1e6


def cost(command: Sequence[str]) -> dict[str, float]:
    """Run ``command``: its wall and processor time, s, and its most memory, MB."""
    started = time.perf_counter()
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return {
        "wall_s": time.perf_counter() - started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * 1024 / MB,
    }


def disk_mb(folder: Path) -> float:
    """Size of the files in ``folder``, MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / MB


def sample(folder: Path, network: str, size: float) -> dict[str, float]:
    """Sample ``network`` at ``size`` into ``folder``; what that cost."""
    changes = [f"--set=scale={size:g}"] if size < 1 else []
    if size > 1:
        counts = load_network_config(network)
        changes = [f"--set={name}={round(size * getattr(counts, name))}" for name in COUNTS]
    command = [sys.executable, "-m", "torsweep", "network", "sample", network, "--seed=1", f"--out={folder}"]
    spent = cost([*command, *changes])
    return {
        "sampling_s": spent["wall_s"],
        "sampling_peak_mb": spent["peak_mb"],
        "network_disk_mb": disk_mb(folder),
        "relays": len(json.loads((folder / "network.json").read_text(encoding="utf-8"))["relays"]),
    }


def run(folder: Path) -> dict[str, Any]:
    """Run ``folder``; what that cost."""
    spent = cost(["cellsim", "run", str(folder)])
    record = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    found = {f"{name}_m": record[name] / 1e6 for name in ("events", "cell_hops")}
    found |= {"simulated_s": record["simulated_s"], "cpu_s_per_s": spent["cpu_s"] / record["simulated_s"]}
    found |= {"cpu_s": spent["cpu_s"], "peak_mb": record["peak_memory_bytes"] / MB}
    memory = record["memory"]
    for part in PARTS:
        count, in_bytes = memory[part]["count"], memory[part]["bytes"]
        found |= {part: count, f"{part}_mb": in_bytes / MB, f"bytes_of_{part}": in_bytes / max(count, 1)}
    found["events_mb"] = memory["events_bytes"] / MB
    found["ns_per_cell_hop"] = 1e9 * spent["cpu_s"] / max(record["cell_hops"], 1)
    return found | {"run_disk_mb": disk_mb(folder)}


def measure(
    scratch: Path,
    sizes: Sequence[tuple[str, float]],
    variants: Sequence[str],
    times: tuple[str, str],
    rounds: int,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each network, size and variant: that of the least processor time."""
    networks: dict[tuple[str, float], tuple[Path, dict[str, float]]] = {}
    least: dict[tuple[str, float, str], dict[str, Any]] = {}
    for number, (network, size) in enumerate(sizes):
        place = scratch / f"network-{number}"
        networks[network, size] = (place, sample(place, network, size))
    runs = {}
    for (name, variant), number in zip(product(networks, variants), range(10**6), strict=False):
        runs[*name, variant] = prepared(scratch / f"run-{number}", networks[name][0], variant, times)
    for _, key in product(range(rounds), runs):
        found = run(runs[key])
        said = f"{found['ns_per_cell_hop']:.0f} ns a cell-hop, {found['peak_mb']:.0f} MB"
        print(f"{key}: {said}", file=sys.stderr)
        if key not in least or found["cpu_s"] < least[key]["cpu_s"]:
            least[key] = found
    for key, found in least.items():
        yield dict(zip(KEY, key, strict=True)) | networks[key[:2]][1] | found


def merged(out: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """``rows``, rounded, and those of ``out`` that they do not replace."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    if out.is_file():
        with out.open(encoding="utf-8", newline="") as file:
            found = {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}
    for row in rows:
        texts = {
            name: f"{row[name]:.6g}" if isinstance(row[name], float) else str(row[name]) for name in COLUMNS
        }
        found[tuple(texts[name] for name in KEY)] = texts
    return sorted(found.values(), key=lambda row: (row["network"], row["variant"], float(row["size"])))


def network_of(text: str) -> tuple[str, float]:
    """``NAME=SIZE``."""
    name, _, size = text.partition("=")
    try:
        return name, float(size)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: accepted: a network and its size: paper=10") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description="What networks of several sizes cost in the model.")
    parser.add_argument("out", type=Path)
    parser.add_argument("networks", nargs="+", type=network_of, metavar="NETWORK=SIZE")
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--warm-up", default="1 min")
    parser.add_argument("--measured", default="1 min")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    times = (f"warm_up={given.warm_up}", f"measured={given.measured}")
    with tempfile.TemporaryDirectory() as scratch:
        variants = given.variant or list(VARIANTS)
        rows = list(measure(Path(scratch), given.networks, variants, times, given.rounds))
    write_text(given.out, csv_text(COLUMNS, merged(given.out, rows)))


if __name__ == "__main__":
    main()
