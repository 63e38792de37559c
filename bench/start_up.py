"""Whether sampled networks come up in an engine of real tor: their start alone, a network for each seed.

    python -m bench.start_up emulation small_live --set web_clients=5 --seeds 1-200 --at-once 3

In: an engine, a network configuration, seeds, a build of tor in this folder. Out: on standard output, a line
of JSON for each seed (the seconds of its start, and the error if there was one), in the order of their ends;
then how many came up. In emulation a start ends when the first client would download, under Shadow a second
later. Starts may go on beside each other: nothing is measured but whether they succeed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.writing import end_with
from torsweep.config.experiment import load_experiment
from torsweep.config.network import load_network_config
from torsweep.config.variant import Variant
from torsweep.engines.emulation.network import RunningNetwork
from torsweep.engines.emulation.process_layout import ProcessLayout, links_document
from torsweep.engines.emulation.processes import ProcessSet, orderly_end
from torsweep.engines.emulation.rights import find_tools
from torsweep.engines.emulation.tcp import TCP, settable
from torsweep.engines.prepare import build_run
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import read_prepared, write_run
from torsweep.engines.shadow.run import run_shadow
from torsweep.engines.shadow.simulate import ShadowSettings
from torsweep.errors import TorsweepError
from torsweep.network.model import LATENCY_FILE, write_network
from torsweep.network.sampling import sample_network

EXPERIMENT, ERA = "scheduler_choice", "today"
SECONDS_NS = 10**9
MOST_S = 900.0


def prepare(folder: Path, engine: str, config: str, changes: dict[str, str], seed: int) -> Path:
    """A run of a second, without a knob turned, on the network of ``seed``."""
    sampled = sample_network(load_network_config(config, changes), seed)
    write_network(sampled.network, sampled.matrix_us, folder / "network")
    settings = run_settings(load_experiment(EXPERIMENT), engine, ERA, Variant(()))
    times = {"warm_up_ns": 0, "client_start_window_ns": 0, "duration_ns": SECONDS_NS}
    run = folder / "run"
    write_run(build_run(settings.model_copy(update=times), Variant(()), folder / "network", run), run)
    return run


def emulate(directory: Path) -> None:
    """Bring up the network of a run on this machine's kernel, and end it."""
    run, network, network_directory = read_prepared(directory)
    tools, tcp, folder = find_tools(run), TCP[run.era], directory / "processes"
    folder.mkdir()
    sysctls, _ = settable(tcp.sysctls())
    latency, statistics = network_directory / LATENCY_FILE, folder / "links.parquet"
    links = links_document(network, latency, tcp, sysctls, run.seed, statistics)
    with tempfile.TemporaryDirectory() as sockets, orderly_end():
        layout, processes = ProcessLayout(run, network, folder, Path(sockets)), ProcessSet()
        deadline = time.monotonic() + MOST_S
        running = RunningNetwork(layout, tools.tors, tools.linkem, links, processes, print, deadline)
        try:
            asyncio.run(running.bring_up())
        finally:
            processes.stop()


def start(engine: str, config: str, changes: dict[str, str], seed: int) -> None:
    """Start the network of ``seed`` in this process."""
    with tempfile.TemporaryDirectory() as name:
        directory = prepare(Path(name), engine, config, changes, seed)
        if engine == "emulation":
            emulate(directory)
        else:
            run_shadow(directory, ShadowSettings(parallelism=1), print)


def start_apart(options: argparse.Namespace, seed: int) -> bool:
    """Start the network of ``seed`` in a process of its own and print how that went; whether it came up."""
    command = [sys.executable, "-m", "bench.start_up", options.engine, options.config, f"--seeds={seed}"]
    command += [f"--set={change}" for change in options.set]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    line: dict[str, float | str] = {"seed": seed, "seconds": round(time.monotonic() - began, 1)}
    if done.returncode:
        line["error"] = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    print(json.dumps(line), flush=True)
    return done.returncode == 0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("engine")
    parser.add_argument("config")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seeds", required=True, metavar="FIRST-LAST")
    parser.add_argument("--at-once", type=int, default=1)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    if not last:
        changes = dict(change.split("=", 1) for change in options.set)
        try:
            start(options.engine, options.config, changes, int(first))
        except TorsweepError as error:
            sys.exit(str(error))
        return
    seeds = range(int(first), int(last) + 1)
    with ThreadPoolExecutor(options.at_once) as pool:
        came_up = sum(pool.map(partial(start_apart, options), seeds))
    print(f"{came_up} of {len(seeds)} networks came up")


if __name__ == "__main__":
    end_with(main)
