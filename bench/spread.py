"""How far apart two runs are by chance alone, as the file that plans comparisons.

    python -m bench.spread results/runs results/repeats --out configs/spread.csv
    python -m bench.spread torsweep-studies/again-e6c1a3/results/runs --out configs/spread.csv

In: folders with finished runs of real tor. Runs of a network that were asked for the same, but for
``repeat``, and gave other tables are taken together: a run and its repeat, the sides of an A/A comparison, in
emulation the baselines of two comparisons. Out: a row for each network, engine, era, pairing, group of
downloads, measure and measured time (:class:`~torsweep.stats.inference.planning.Spread`) in ``--out``, in
place of the same row there; all other rows stay. Beside the time that was measured stand its half and its
quarter, as if the runs had ended then. A measure that a network lacks has no row: a comparison of it would
have no interval.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from bench.writing import end_with
from torsweep.config.traffic import GROUPS
from torsweep.config.variant import FREE, PATHS
from torsweep.engines.run_spec import RUN_FILE, RunSpec, finished_run, read_run
from torsweep.engines.table_schema import STREAMS
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.run import read_table
from torsweep.stats.claims.change import EVERYONE
from torsweep.stats.inference.planning import SPREAD_FILE, Spread, SpreadKey, read_spreads
from torsweep.stats.streams.differences import paired_changes
from torsweep.stats.streams.incidence import ENTRY, METRICS, with_pages
from torsweep.stats.streams.medians import run_quantiles
from torsweep.storage import write_text

TIMES = ("ttfb", "ttlb")
STATISTICS = ("mean", "p90")
PARTS_OF_TIME = (1, 2, 4)
"""What the measured time is divided by."""
LEAST_S = 30

NOT_COMPARED = ("repeat", "experiment", "variant", "network")
"""What differs by chance, and what run.json calls things: what they are stands beside it."""

Ratios = Mapping[tuple[str, str, int], float]
"""Logarithms, by group of downloads, measure and measured seconds."""

Setting = tuple[str, str, str, str]
"""Network, engine, era and pairing."""


def measured_s(run: RunSpec) -> int:
    """The time in which downloads of ``run`` count, seconds."""
    return (run.duration_ns - run.warm_up_ns) // 10**9


def sides(one: Path, other: Path) -> pl.DataFrame:
    """The downloads of two runs, by ``side``."""
    frames = [
        read_table(directory, STREAMS).with_columns(
            (read_run(directory).warm_up_ns // 1000 - pl.col("start_us")).alias(ENTRY),
            side=pl.lit(side),
            seed=pl.lit(0),
        )
        for side, directory in (("one", one), ("other", other))
    ]
    return with_pages(pl.concat(frames), ["side", "seed"])


def log_ratios(one: Path, other: Path) -> Ratios:
    """How much longer downloads take in the run in ``other`` than in ``one``; NaN: nobody knows."""
    run, streams = read_run(one), sides(one, other)
    warm_up_us, whole_s = run.warm_up_ns // 1000, measured_s(run)
    ratios: dict[tuple[str, str, int], float] = {}
    for seconds in (whole_s // part for part in PARTS_OF_TIME if whole_s // part >= LEAST_S or part == 1):
        cut = ended_at(streams, warm_up_us + seconds * 10**6)
        for group, kinds in GROUPS.items():
            of_group = cut.filter(pl.col("kind").cast(pl.String).is_in(kinds)).with_columns(
                kind=pl.lit(group)
            )
            if group != EVERYONE and not of_group.is_empty():
                found = measures(of_group).items()
                ratios |= {(group, measure, seconds): ratio for measure, ratio in found}
    return ratios


def measures(streams: pl.DataFrame) -> Mapping[str, float]:
    """The logarithm of the other side over the one, by measure, of downloads of one group."""
    quantiles = run_quantiles(streams, ["side"])
    found: dict[str, float] = {}
    for metric in TIMES:
        (ratio,), _ = paired_changes(streams, METRICS[metric], {"side": "one"}, {"side": "other"}, [0])
        found[f"paired_{metric}"] = float(ratio)
        for statistic in STATISTICS:
            of_metric = quantiles.filter(metric=metric)
            times = dict(of_metric.select("side", f"{statistic}_s").iter_rows())
            known = times.get("one") and times.get("other")
            found[f"{statistic}_{metric}"] = float(np.log(times["other"] / times["one"])) if known else np.nan
    return found


def ended_at(streams: pl.DataFrame, end_us: int) -> pl.DataFrame:
    """``streams`` as they had been, had the run ended at ``end_us``."""
    left = pl.lit(end_us) - pl.col("start_us")
    late = pl.col("observed_us") > left
    times = [metric.column for metric in METRICS.values()]
    return streams.filter(left > 0).with_columns(
        *(pl.when(pl.col(name) <= left).then(pl.col(name)).alias(name) for name in times),
        outcome=pl.when(late).then(pl.lit("unfinished")).otherwise(pl.col("outcome").cast(pl.String)),
        observed_us=pl.min_horizontal(pl.col("observed_us"), left),
    )


def alike(run: RunSpec) -> str:
    """What two runs that differ by chance alone have in common."""
    return json.dumps(run.model_dump(mode="json", exclude=set(NOT_COMPARED)), sort_keys=True)


def finished_runs(folders: Iterable[Path]) -> list[Path]:
    """The folders of the finished runs below ``folders``."""
    found = [file.parent for folder in folders for file in sorted(folder.rglob(RUN_FILE))]
    return [directory for directory in found if (directory / PROVENANCE_FILE).is_file()]


def alike_pairs(directories: Sequence[Path]) -> Iterator[tuple[Setting, str, Path, Path]]:
    """Pairs of the runs in ``directories`` that differ by chance alone, and the checksum of their network.

    Raises InputError when a run is damaged, or none has another that is alike.
    """
    groups: dict[str, dict[str, Path]] = defaultdict(dict)
    for directory in directories:
        finished_run(directory)
        tables = json.dumps(read_json(directory / PROVENANCE_FILE)["tables"], sort_keys=True)
        groups[alike(read_run(directory))].setdefault(tables, directory)
    if all(len(runs) < 2 for runs in groups.values()):
        raise InputError("no two of these runs are alike but for chance", accepted="runs and their repeats")
    for runs in groups.values():
        first = read_run(next(iter(runs.values())))
        where = (Path(first.network).parent.name, first.engine, first.era, PATHS if first.paths else FREE)
        for one, other in combinations(runs.values(), 2):
            yield where, first.network_sha256, one, other


def rows_of(pairs: Iterable[tuple[Setting, str, Ratios]]) -> Iterator[Spread]:
    """A row for each measure of ``pairs``: network, engine, era and pairing; which network it is; ratios.

    The mean of two runs that are alike is 0, and so the spread is the root mean square.
    """
    rows: dict[SpreadKey, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for where, network, ratios in pairs:
        for (group, measure, seconds), ratio in ratios.items():
            rows[*where, group, measure, seconds][network].append(ratio**2)
    for key, by_network in rows.items():
        spread = float(np.sqrt(np.mean([np.mean(each) for each in by_network.values()])))
        if np.isfinite(spread):
            yield Spread(*key, len(by_network), float(f"{spread:.4g}"))


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
    pairs = alike_pairs(finished_runs(options.folders))
    rows = rows_of((where, network, log_ratios(one, other)) for where, network, one, other in pairs)
    write_spreads(rows, options.out)


if __name__ == "__main__":
    end_with(main)
