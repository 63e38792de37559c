"""How far runs are apart, network by network, by what of them is compared.

    python -m bench.estimators aa/results/runs --out docs/tables/estimators.csv

In: folders with finished runs of several variants on the same networks. Out: for each two variants, and each
time of web clients, the standard deviation over networks of the logarithm of a ratio: of medians, of
geometric means, and of pairs of the same download, by their mean, median and the mean of their middle half,
which ``torsweep compare`` judges. It is due to chance, and to a change that differs between networks. Rows
replace those of the same runs in the file. :mod:`bench.model_pairs` writes the model's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from bench.spread import TIMES, finished_runs, measured_s, sides
from torsweep.engines.run_spec import read_run
from torsweep.stats.streams.incidence import ENTRY, METRICS, Floats
from torsweep.stats.streams.pairs import interquartile_mean
from torsweep.storage import write_text

KIND = "web"
ESTIMATORS = ("medians", "geometric_means", "mean_of_pairs", "median_of_pairs", "middle_half_of_pairs")
KEY = ("network", "engine", "measured_s", "variants", "metric")


Key = tuple[str, str, int, str]


def estimates(one: Path, other: Path) -> Mapping[str, Floats]:
    """By metric, the logarithm of other / one by each of :data:`ESTIMATORS`."""
    streams = sides(one, other).filter(pl.col("kind").cast(pl.String) == KIND, pl.col(ENTRY) <= 0)
    found = {}
    for metric in TIMES:
        column = METRICS[metric].column
        logs = streams.drop_nulls(column).with_columns(pl.col(column).cast(pl.Float64).log())
        each = [logs.filter(side=side) for side in ("one", "other")]
        pairs = each[0].join(each[1], on=["client", "stream"], suffix="_other")
        ratios = (pairs[f"{column}_other"] - pairs[column]).to_numpy()
        medians, means = (
            [number(side[column].to_numpy()) for side in each] for number in (np.median, np.mean)
        )
        values = (np.diff(medians)[0], np.diff(means)[0], ratios.mean(), np.median(ratios))
        found[metric] = np.array([*values, interquartile_mean(ratios)])
    return found


def variant_pairs(directories: Iterable[Path]) -> Iterator[tuple[Key, Path, Path]]:
    """Pairs of the runs in ``directories`` on the same network, by what the rows are of."""
    networks: dict[tuple[object, ...], dict[str, Path]] = defaultdict(dict)
    for directory in directories:
        run = read_run(directory)
        where = (Path(run.network).parent.name, run.engine, measured_s(run))
        networks[*where, run.experiment, run.network_sha256][", ".join(run.variant.values())] = directory
    for (name, engine, seconds, *_), runs in networks.items():
        for (one, first), (other, second) in combinations(sorted(runs.items()), 2):
            yield (str(name), str(engine), int(str(seconds)), f"{one}, {other}"), first, second


def rows_of(pairs: Iterable[tuple[Key, Mapping[str, Floats]]]) -> list[dict[str, object]]:
    """The rows of comparisons: network, engine, measured seconds and variants; estimates."""
    by_key: dict[tuple[object, ...], list[Floats]] = defaultdict(list)
    for key, found in pairs:
        for metric, values in found.items():
            by_key[*key, metric].append(values)
    return [
        dict(zip(KEY, key, strict=True))
        | {"networks": len(values)}
        | dict(zip(ESTIMATORS, np.std(values, axis=0, ddof=1).round(4).tolist(), strict=True))
        for key, values in by_key.items()
        if len(values) > 1
    ]


def write_rows(rows: list[dict[str, object]], file: Path) -> None:
    """Write ``rows`` into ``file``, in place of the same ones there."""
    kept = pl.read_csv(file).to_dicts() if file.is_file() else []
    whole = {tuple(str(row[name]) for name in KEY): row for row in (*kept, *rows)}
    write_text(file, pl.DataFrame([whole[key] for key in sorted(whole)]).write_csv())


def main(arguments: list[str] | None = None) -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.estimators")
    parser.add_argument("folders", type=Path, nargs="+", help="with runs below them")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    pairs = variant_pairs(finished_runs(options.folders))
    write_rows(rows_of((key, estimates(one, other)) for key, one, other in pairs), options.out)


if __name__ == "__main__":
    main()
