"""How much runs differ by chance alone, as the file that plans comparisons.

    python -m bench.spread results/runs results/repeats --out configs/spread.csv

In: folders with finished runs. Runs of a network that were asked for the same, but for ``seed`` or
``repeat``, are taken together: a run and its repeat, the sides of an A/A comparison. Out: a row for each
network, engine, era, pairing, kind and metric (:class:`~torsweep.stats.inference.planning.Spread`) in
``--out``, in place of the same row there; all other rows stay. A metric of which a run has no median, as
too few downloads were complete, has no row: a comparison of it would have no interval.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from bench.run_medians import quantiles_of_run
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.prepare import finished_run
from torsweep.engines.run_spec import RUN_FILE, RunSpec, read_run
from torsweep.errors import InputError
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.inference.planning import SPREAD_FILE, Spread, SpreadKey, read_spreads
from torsweep.storage import write_text

METRICS = ("ttfb", "ttlb")

BY_CHANCE = ("seed", "repeat")
NAMES_ONLY = ("experiment", "variant", "network")
"""What run.json calls things. What they are stands beside it: the settings, the network's checksum."""

Medians = dict[tuple[str, str], float]
"""Seconds, by kind and metric."""


def medians(directory: Path) -> Medians:
    """The medians of the run in ``directory``; NaN where there is none."""
    return {
        (str(row["kind"]), row["metric"]): np.nan if row["median_s"] is None else row["median_s"]
        for row in quantiles_of_run(directory).iter_rows(named=True)
        if row["metric"] in METRICS
    }


def alike(run: RunSpec) -> str:
    """What two runs that differ by chance alone have in common."""
    document = run.model_dump(mode="json", exclude={*BY_CHANCE, *NAMES_ONLY})
    return json.dumps(document, sort_keys=True)


def variance(values: Iterable[float]) -> float:
    """Of the difference of two of ``values``, which are logarithms of medians of runs that are alike."""
    return 2 * float(np.var(np.log(list(values)), ddof=1))


def spreads(directories: Sequence[Path]) -> Iterator[Spread]:
    """The rows of the runs in ``directories``.

    Raises InputError when a run is damaged, none has another that is alike, or runs of one row were measured
    for different times.
    """
    groups: dict[str, dict[tuple[int, int], tuple[RunSpec, Medians]]] = defaultdict(dict)
    for directory in directories:
        finished_run(directory)
        run = read_run(directory)
        groups[alike(run)].setdefault((run.seed, run.repeat), (run, medians(directory)))
    rows: dict[SpreadKey, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    measured: dict[SpreadKey, set[int]] = defaultdict(set)
    for group in groups.values():
        runs = [run for run, _ in group.values()]
        if len(runs) < 2:
            continue
        first = runs[0]
        where = (Path(first.network).parent.name, first.engine, first.era, PATHS if first.paths else FREE)
        for kind, metric in product(first.traffic, METRICS):
            values = (found.get((kind, metric), np.nan) for _, found in group.values())
            key: SpreadKey = (*where, kind, metric)
            rows[key][first.network_sha256].append(variance(values))
            measured[key].add((first.duration_ns - first.warm_up_ns) // 10**9)
    if not rows:
        raise InputError("no two of these runs are alike but for chance", accepted="runs and their repeats")
    for key, by_network in rows.items():
        if len(measured[key]) > 1:
            times = " and ".join(f"{seconds} s" for seconds in sorted(measured[key]))
            raise InputError(f"runs on {key[0]} in {key[1]} were measured for {times}", accepted="one time")
        mean = float(np.mean([np.mean(each) for each in by_network.values()]))
        if np.isfinite(mean):
            yield Spread(*key, measured[key].pop(), len(by_network), float(f"{np.sqrt(mean):.4g}"))


def write_spreads(rows: Iterable[Spread], file: Path) -> None:
    """Write ``rows`` into ``file``, in place of the same ones there."""
    kept = read_spreads(file) if file.is_file() else []
    whole = {row.key: row for row in (*kept, *rows)}
    write_text(file, pl.DataFrame([asdict(whole[key]) for key in sorted(whole)]).write_csv())


def main(arguments: list[str] | None = None) -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.spread")
    parser.add_argument("folders", type=Path, nargs="+", help="with runs below them")
    parser.add_argument("--out", type=Path, default=SPREAD_FILE)
    options = parser.parse_args(arguments)
    found = [file.parent for folder in options.folders for file in sorted(folder.rglob(RUN_FILE))]
    finished = [directory for directory in found if (directory / PROVENANCE_FILE).is_file()]
    write_spreads(spreads(finished), options.out)


if __name__ == "__main__":
    main()
