"""How far two runs are apart by chance, by what of them is compared.

    python -m bench.estimators aa/results/runs --out docs/tables/estimators.csv

In: folders with finished A/A comparisons, as for :mod:`bench.spread`. Out: for each network configuration,
engine, pairing, and each time of web clients, the root mean square over networks of the logarithm of a ratio:
of medians, of geometric means, and of pairs of the same download, by their mean, median and the mean of their
middle half, which ``torsweep compare`` judges. Rows replace those of the same runs in the file.
:mod:`bench.model_pairs` writes the model's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from bench.spread import TIMES, Where, alike_pairs, finished_runs, measured_s, sides
from torsweep.engines.run_spec import read_run
from torsweep.stats.streams.incidence import ENTRY, METRICS, Floats
from torsweep.stats.streams.pairs import interquartile_mean
from torsweep.storage import write_text

KIND = "web"
ESTIMATORS = ("medians", "geometric_means", "mean_of_pairs", "median_of_pairs", "middle_half_of_pairs")
KEY = ("network", "engine", "era", "pairing", "measured_s", "metric")


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


def rows_of(pairs: Iterable[tuple[Where, int, Mapping[str, Floats]]]) -> list[dict[str, object]]:
    """The rows of comparisons: where, measured seconds, estimates."""
    by_key: dict[tuple[object, ...], list[Floats]] = defaultdict(list)
    for where, seconds, found in pairs:
        for metric, values in found.items():
            by_key[*where, seconds, metric].append(values)
    return [
        dict(zip(KEY, key, strict=True))
        | {"networks": len(values)}
        | dict(zip(ESTIMATORS, np.sqrt(np.mean(np.square(values), axis=0)).round(4).tolist(), strict=True))
        for key, values in by_key.items()
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
    pairs = alike_pairs(finished_runs(options.folders))
    write_rows(
        rows_of((where, measured_s(read_run(one)), estimates(one, other)) for where, _, one, other in pairs),
        options.out,
    )


if __name__ == "__main__":
    main()
