"""What it costs to record the measures: processor time of runs with them over that of runs without.

    python -m bench.measures_cost RUN_DIR [--pairs 4]
    python -m bench.measures_cost 'COMMAND WITH THEM' 'COMMAND WITHOUT' [--pairs 4]

In: a run that was prepared for the emulation, which is played in folders of its own with and without the
exits' logs of round trips (no other measure makes tor do more); or two commands. The machine should do
nothing else; hosts are made as root.

Out: for each pair, and then for all, the ratio of processor time, user and system, of a command and all its
processes from their start; of the emulation also that of its exits from time 0 on. The second side goes first
in every other pair. The interval is the 95 % t-interval of the mean logarithm over the pairs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from torsweep.engines.emulation.entry import find_tools
from torsweep.engines.emulation.run.engine import run_emulation
from torsweep.engines.prepare import write_run
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_files import COSTS_FILE
from torsweep.network.model import read_network
from torsweep.stats.inference.intervals import exponential, t_interval
from torsweep.tor.place import TOOLS

SIDES = ("with", "without")
TRIES = 3
"""A run in real time that other work slowed down is made again."""


def processor_s(command: Sequence[str]) -> float:
    """Processor seconds of ``command`` and of all processes that it, or one of them, has waited for."""
    for _ in range(TRIES):
        child = subprocess.Popen(command)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode == 0:
            return usage.ru_utime + usage.ru_stime
    raise SystemExit(f"{shlex.join(command)}: failed {TRIES} times")


def exits_s(run_directory: Path) -> float:
    """Processor seconds of the exits' tors from time 0 on, in a run of the emulation."""
    network, _ = read_network(run_directory / read_run(run_directory).network, latency=False)
    exits = [relay.name for relay in network.relays if "exit" in relay.position]
    costs = pl.read_parquet(run_directory / COSTS_FILE)
    return costs.filter(pl.col("host").is_in(exits))["cpu_us"].sum() / 1e6


def prepared(run_directory: Path, work: Path) -> dict[str, Path]:
    """The run of ``run_directory`` in a folder for each side, so that no result is overwritten."""
    run = read_run(run_directory)
    network = (run_directory / run.network).resolve()
    folders = {side: work / side for side in SIDES}
    for folder in folders.values():
        write_run(run.model_copy(update={"network": os.path.relpath(network, folder.resolve())}), folder)
    return folders


def pairs(
    commands: Mapping[str, Sequence[str]], count: int, folders: Mapping[str, Path]
) -> list[dict[str, float]]:
    """The ratio of each measure, for each of ``count`` pairs; with ``folders`` also that of the exits."""
    found = []
    for number in range(count):
        taken: dict[str, dict[str, float]] = {}
        for side in SIDES if number % 2 else SIDES[::-1]:
            taken[side] = {"all processes": processor_s(commands[side])}
            if side in folders:
                taken[side]["exits"] = exits_s(folders[side])
        found.append({name: taken["with"][name] / taken["without"][name] for name in taken["with"]})
        said = [f"{name} {taken['with'][name]:.2f} s / {taken['without'][name]:.2f} s" for name in found[-1]]
        print(f"pair {number + 1}: {'; '.join(said)}", flush=True)
    return found


def text(found: Sequence[Mapping[str, float]]) -> str:
    """A line for each time that is compared: by how much the measures add to it, and the interval."""
    lines = []
    for name in found[0]:
        more = exponential(t_interval(np.log([ratios[name] for ratios in found])))
        interval = f" ({more.low:+.2%} to {more.high:+.2%})" if more.known else ""
        lines.append(f"{name}: {more.mean:+.2%}{interval}, {len(found)} pairs")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the pairs and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m bench.measures_cost")
    parser.add_argument("what", nargs="+", metavar="RUN_DIR | WITH WITHOUT")
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--play", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.play:
        folder = Path(options.what[0])
        run_emulation(folder, find_tools(TOOLS, read_run(folder)), round_trips=options.play == "with")
        return
    with tempfile.TemporaryDirectory() as work:
        folders: dict[str, Path] = {}
        commands = dict(zip(SIDES, map(shlex.split, options.what), strict=False))
        if len(options.what) == 1:
            folders = prepared(Path(options.what[0]), Path(work))
            own = [sys.executable, "-m", "bench.measures_cost", "--play"]
            commands = {side: [*own, side, str(folder)] for side, folder in folders.items()}
        print(text(pairs(commands, options.pairs, folders)))


if __name__ == "__main__":
    main()
