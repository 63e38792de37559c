"""Comparisons in the model: what chance does, and how often a change is shown that the plan promises to show.

    python -m bench.model_pairs spread small_live ci --out configs/spread.csv
    python -m bench.model_pairs promise small_live --change scheduler=kist_20ms --networks 8 --out promise.csv

In: configurations of networks. In the model nothing differs between two runs of one network unless it is made
to: one side's clients start up to a millisecond later, and what differs is what follows. With ``free`` paths,
those of one side are drawn from another seed, too.

Out of ``spread``: the rows of these networks (:mod:`bench.spread`). Out of ``promise``: a row for each
measure: the change that so many networks promise to show (from the spreads, as a dry run has it), the mean
change of all comparisons, and how many of them show it; each is on networks of its own, which are not those
of the spreads.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from math import expm1
from pathlib import Path

import numpy as np
import polars as pl

from bench.spread import Ratios, log_ratios, rows_of, write_spreads
from bench.writing import end_with
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.network import load_network_config
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.circuit_paths import drawn_paths
from torsweep.engines.prepare import build_run
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.engines.run_settings import run_settings
from torsweep.engines.tools import require_own_program
from torsweep.network.model import write_network
from torsweep.network.sampling import sample_network
from torsweep.provenance import sha256_of_file
from torsweep.seeds import repeat_seed
from torsweep.stats.claims.change import same_download_confidence
from torsweep.stats.comparison_rows import short_name
from torsweep.stats.inference.interim import Design
from torsweep.stats.inference.planning import SPREAD_FILE, read_spreads, smallest_shown, spread_of, spreads_of
from torsweep.storage import write_text
from torsweep.study.document import TRAFFIC_OF, USUAL_OPTIONS

LATER_NS = 1_000_000
"""How much longer the window is in which the clients of one side start."""

REPEATS = 10
FIRST_SEED = 1_001
"""The first seed of the networks of ``promise``."""

LINES = 4
"""Measures of a comparison."""


def asked(warm_up: str, measured: str) -> Experiment:
    """What a comparison has its clients do."""
    durations = {"warm_up": warm_up, "client_start_window": warm_up, "measured": measured}
    return load_experiment(TRAFFIC_OF, {**durations, "pairing": PATHS})


def compared(
    name: str, seed: int, experiment: Experiment, era: str, pairing: str, change: str
) -> tuple[str, Ratios]:
    """The checksum of a network, and how far the sides of a comparison on it are apart: the baseline, and
    ``change`` (nothing, or ``knob=level``)."""
    sampled = sample_network(load_network_config(name), seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_network(sampled.network, sampled.matrix_us, folder / "network")
        for side, level in (("one", ""), ("other", change)):
            variant = experiment.variant(level)
            settings = run_settings(experiment, MODEL_ENGINE, era, variant)
            run = build_run(settings, variant, folder / "network", folder / side)
            if side == "other":
                run = run.model_copy(update={"client_start_window_ns": run.client_start_window_ns + LATER_NS})
            if side == "other" and pairing == FREE:
                again = sampled.network.model_copy(update={"seed": repeat_seed(seed)})
                paths = drawn_paths(again, run.tor.guards, run.traffic, run.duration_ns)
                run = run.model_copy(update={"paths": paths})
            (folder / side).mkdir()
            run.write(folder / side)
            command = [str(require_own_program(MODEL_ENGINE)), "run", str(folder / side)]
            subprocess.run(command, check=True, capture_output=True)
        return sha256_of_file(folder / "network/network.json"), log_ratios(folder / "one", folder / "other")


def write_model_spreads(options: argparse.Namespace) -> None:
    """The rows of each network, in both pairings."""
    experiment = asked(options.warm_up, options.measured)
    for name, pairing in product(options.networks_of, (PATHS, FREE)):
        where = (name, MODEL_ENGINE, options.era, pairing)
        seeds = range(1, options.networks + 1)
        pairs = ((where, *compared(name, seed, experiment, options.era, pairing, "")) for seed in seeds)
        write_spreads(rows_of(pairs), options.out)


def promised(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """A row for each measure: what is promised, what the change is, and how many comparisons show it."""
    (name,), many = options.networks_of, options.networks
    experiment = asked(options.warm_up, options.measured)
    seeds = range(FIRST_SEED, FIRST_SEED + REPEATS * many)
    found = [compared(name, seed, experiment, options.era, PATHS, options.change)[1] for seed in seeds]
    design, together, spreads = Design().look(many), same_download_confidence(LINES), read_spreads()
    for kind, measure, seconds in found[0]:
        rows = spreads_of(spreads, name, MODEL_ENGINE, kind, measure, era=options.era, pairing=PATHS)
        row = spread_of(rows, seconds)
        values = np.array([each[kind, measure, seconds] for each in found]).reshape(REPEATS, many)
        if row is None or row.measured_s != seconds or not np.isfinite(values).all():
            continue
        intervals = [design.interval(each, together) for each in values]
        size = smallest_shown(row.log_ratio_sd, many, design.confidence_at(many, together), row.networks)
        yield {
            "network": name,
            "change": options.change,
            "networks": many,
            "measured_s": seconds,
            "measure": f"{short_name(kind)}, {measure}",
            "promised": round(expm1(size), 4),
            "change_mean": round(expm1(float(values.mean())), 4),
            "change_sd": round(float(values.std(ddof=1)), 4),
            "chance_sd": round(row.log_ratio_sd, 4),
            "shown": sum(each.low > 0 or each.high < 0 for each in intervals),
            "of": REPEATS,
        }


def main(arguments: list[str] | None = None) -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.model_pairs")
    parser.add_argument("what", choices=("spread", "promise"))
    parser.add_argument("networks_of", nargs="+", metavar="NETWORK", help="configurations")
    parser.add_argument("--networks", type=int, default=16, help="how many of each")
    parser.add_argument("--era", default=USUAL_OPTIONS["era"])
    parser.add_argument("--warm-up", default=USUAL_OPTIONS["warm_up"])
    parser.add_argument("--measured", default="4 min", help="also half and a quarter of it")
    parser.add_argument("--change", default="", metavar="KNOB=LEVEL", help="of promise")
    parser.add_argument("--out", type=Path, default=SPREAD_FILE)
    options = parser.parse_args(arguments)
    if options.what == "promise" and len(options.networks_of) > 1:
        parser.error("promise is of one configuration")
    if options.what == "spread":
        write_model_spreads(options)
    else:
        write_text(options.out, pl.DataFrame(list(promised(options))).write_csv())


if __name__ == "__main__":
    end_with(main)
