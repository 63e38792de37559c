"""Does the model choose paths as tor does? The circuits of real tor against the model's weights.

    python -m bench.path_choice docs/tables/path_choice.csv RUN_DIR…

In: finished runs of engines that run tor and leave ``circuits.parquet``. Out: a CSV file with a row for each
run: the circuits for streams that tor built, how well their exits and middles fit the model's chances (χ²,
p-value; a middle given guard and exit), the share of the heaviest guard in both, and which share of these
exits would be the guard of a client that has only one. The model's chances are those of
``cellsim/src/path.rs``: the exit first, a guard among the client's that is not the exit, then the middle,
each by consensus weight times the bandwidth-weight of its position.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from bench.writing import end_with
from plotting.drawing.palette import level_name
from torsweep.config.variant import variant_levels
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import CIRCUITS
from torsweep.network.bandwidth_weights import HOP_WEIGHTS
from torsweep.network.model import Network, read_network
from torsweep.runsets.run import read_table
from torsweep.storage import write_text

FOR_STREAMS = ("GENERAL", "PATH_BIAS_TESTING")
"""Purposes of circuits to an exit. A circuit that is tested for path bias had one of the other purposes
before, and will be closed."""

LEAST_EXPECTED = 5
"""Relays of fewer expected circuits are counted together, as the χ² distribution asks for."""

Array = npt.NDArray[np.float64]


def weights(network: Network, place: str) -> Array:
    """The weight of each relay at ``place`` of a path: guard, middle or exit."""
    names = (HOP_WEIGHTS[place].get(relay.position) for relay in network.relays)
    shares = [network.bandwidth_weights[name] / 10_000 if name else 0.0 for name in names]
    return np.array([relay.consensus_weight for relay in network.relays]) * np.array(shares)


def guard_chances(guard: Array, exits: Array, count: int) -> Array:
    """The chance of each relay to be a circuit's guard, where a client keeps ``count``, drawn by weight one
    after the other."""
    chances, of_exit = np.zeros(len(guard)), exits / exits.sum()
    for chosen in permutations(np.flatnonzero(guard).tolist(), count):
        likely, left = 1.0, guard.sum()
        for relay in chosen:
            likely, left = likely * guard[relay] / left, left - guard[relay]
        for relay in chosen:
            others = [other for other in chosen if other != relay]
            apart = 1 - of_exit[list(chosen)].sum()
            chances[relay] += likely * apart / count
            chances[relay] += likely * of_exit[others].sum() / max(count - 1, 1)
    return chances


def fit(seen: Array, expected: Array) -> tuple[float, float]:
    """χ² and its p-value; relays with few expected circuits are counted as one, and no circuit may use a
    relay whose chance is 0."""
    if seen[expected == 0].any():
        return float("inf"), 0.0
    order = np.argsort(expected)
    few = order[np.cumsum(expected[order]) < LEAST_EXPECTED]
    rest = np.setdiff1d(np.flatnonzero(expected), few)
    pooled = [(seen[few].sum(), expected[few].sum())] if expected[few].sum() else []
    pairs = [*pooled, *zip(seen[rest], expected[rest], strict=True)]
    value = sum((one - other) ** 2 / other for one, other in pairs)
    return float(value), float(stats.chi2.sf(value, len(pairs) - 1))


def compare(network: Network, paths: Sequence[tuple[int, int, int]], guards: int) -> dict[str, float]:
    """How well the paths of real circuits (guard, middle and exit as numbers of relays) fit the weights."""
    guard, middle, exits = (weights(network, place) for place in HOP_WEIGHTS)
    count = len(network.relays)
    seen = {
        name: np.bincount([path[i] for path in paths], minlength=count) for i, name in enumerate(HOP_WEIGHTS)
    }
    expected = np.zeros(count)
    for one, _, last in paths:
        free = middle.copy()
        free[[one, last]] = 0
        expected += free / free.sum()
    of_guards = guard_chances(guard, exits, guards)
    heaviest = int(np.argmax(of_guards))
    exit_value, exit_p = fit(seen["exit"], len(paths) * exits / exits.sum())
    middle_value, middle_p = fit(seen["middle"], expected)
    return {
        "circuits": len(paths),
        "exit_chi2": exit_value,
        "exit_p": exit_p,
        "middle_chi2": middle_value,
        "middle_p": middle_p,
        "guard_model": float(of_guards[heaviest]),
        "guard_tor": float(seen["guard"][heaviest] / len(paths)),
        "guard_error": float(np.sqrt(of_guards[heaviest] * (1 - of_guards[heaviest]) / len(paths))),
        "only_guard": float(seen["exit"] @ guard / guard.sum() / len(paths)),
    }


def row(directory: Path) -> dict[str, object]:
    """The row of a run."""
    run = read_run(directory)
    network, _ = read_network(directory / run.network)
    numbers = {relay.name: number for number, relay in enumerate(network.relays)}
    circuits = read_table(directory, CIRCUITS).filter(pl.col("purpose").is_in(FOR_STREAMS))
    named = [path.split(",") for path in circuits["path"].drop_nulls()]
    paths = [
        (numbers[path[0]], numbers[path[1]], numbers[path[2]])
        for path in named
        if len(path) == 3 and numbers.keys() >= set(path)
    ]
    levels = ", ".join(map(level_name, variant_levels(directory.name).values()))
    where = {"engine": run.engine, "network": run.seed, "variant": levels}
    return {**where, **compare(network, paths, run.tor.guards)}


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.path_choice")
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    frame = pl.DataFrame([row(directory) for directory in options.runs])
    write_text(options.out, frame.with_columns(pl.col(pl.Float64).round_sig_figs(4)).write_csv())


if __name__ == "__main__":
    end_with(main)
