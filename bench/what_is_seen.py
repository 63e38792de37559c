"""What networks show of known changes: by this table networks of `torsweep compare` are judged.

    python -m bench.what_is_seen own_rates eight_relays small_live --runs results/seen
    python -m bench.what_is_seen eight_relays --queue droptail --runs results/seen --out eight_relays.csv
    python -m bench.what_is_seen eight_relays --engine shadow --loads 1 --plans main --runs results/seen
    python -m bench.what_is_seen --compared windows congestion=fixed \\
        torsweep-studies/cc_alg_0-3b0f2c/results/runs/cc_alg_0/emulation/today/eight_relays

In: networks, an engine, and the plans of `experiments/known_changes`, each of which turns one knob. Out: in
``--out`` a row for each engine, network, load, change and measure: how much longer it takes with the change,
the mean over networks with a 95 % interval. Rows of the same engine, network, load and change are replaced,
all others stay; finished runs in ``--runs`` are taken as they are. ``--compared`` takes runs that a
`torsweep compare` with options made. ``--table`` is for documents: a row for each engine, network, load and
change.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from bench.public_2019 import utilisation
from bench.spread import sides
from torsweep.config.eras import usual_levels
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.knobs import DEFAULT_OPTIONS
from torsweep.config.network import load_network_config
from torsweep.config.reading import parse_scalar
from torsweep.config.variant import Variant
from torsweep.engines.host_choice import RunTors
from torsweep.engines.prepare import build_run
from torsweep.engines.registry import MODEL_ENGINE, find_engine
from torsweep.engines.run_settings import run_settings, tor_builds
from torsweep.engines.run_spec import write_run
from torsweep.network.model import write_network
from torsweep.network.sampling import sample_network
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.streams.differences import paired_changes
from torsweep.stats.streams.incidence import METRICS
from torsweep.stats.streams.medians import run_quantiles
from torsweep.storage import write_text
from torsweep.study.sight import REFERENCE, SEEN_FILE

EXPERIMENT = "known_changes"
MEASURES = (("web", "ttfb"), ("web", "ttlb"), ("bulk", "ttlb"), ("perf_1mib", "ttlb"), ("perf_5mib", "ttlb"))
STATISTICS = ("paired", "mean", "p90")
ROWS_OF = ["engine", "network", "load", "change"]

FACTOR, LEAST_SIZE = 1.5, 0.05

Measure = tuple[str, str, str]
"""Kind of client, time, statistic."""


@dataclass(frozen=True)
class Place:
    """Where changes are looked for: networks of one configuration at one load, in one engine."""

    engine: str
    network: str
    load: str
    queue: str | None
    folder: Path

    def played(self, seed: int, variant: Variant, experiment: Experiment) -> Path:
        """The finished run of ``variant`` on network ``seed``."""
        usual = usual_levels(experiment.era)
        turned = tuple((knob, level) for knob, level in variant.levels if usual[knob] != level)
        variant = Variant(turned + ((("link_queue", self.queue),) if self.queue else ()))
        network = self.folder / f"{Path(self.network).stem}+load={self.load}" / str(seed)
        run = network / self.engine / (variant.key or "baseline")
        if (run / PROVENANCE_FILE).is_file():
            return run
        config = load_network_config(self.network, {"load": parse_scalar(self.load)})
        sampled = sample_network(config, seed)
        write_network(sampled.network, sampled.matrix_us, network / "network")
        settings = run_settings(experiment, self.engine, experiment.era, variant)
        engine, tors = find_engine(self.engine), experiment.tors_of(variant)
        builds = tor_builds(engine, experiment.all_tors, tors.names, {})
        used_tors = RunTors(tors, builds, experiment.bundle(variant))
        write_run(build_run(settings, variant, network / "network", run, used_tors), run)
        subprocess.run([*shlex.split(engine.command), "run", str(run)], check=True)
        return run


def changes_between(one: Path, other: Path) -> Iterator[tuple[Measure, float]]:
    """The logarithm of ``other`` over ``one``; NaN where a side has too few downloads."""
    streams = sides(one, other).with_columns(pl.col("kind").cast(pl.String))
    runs = run_quantiles(streams, ["side"])
    for kind, metric in MEASURES:
        of_kind = streams.filter(kind=kind)
        levels = ({"side": "one"}, {"side": "other"})
        yield (kind, metric, "paired"), float(paired_changes(of_kind, METRICS[metric], *levels, [0])[0][0])
        rows = {row["side"]: row for row in runs.filter(kind=kind, metric=metric).iter_rows(named=True)}
        for statistic in STATISTICS[1:]:
            before, after = (rows.get(side, {}).get(f"{statistic}_s") for side in ("one", "other"))
            change = np.nan if before is None or after is None else float(np.log(after / before))
            yield (kind, metric, statistic), change


def rows_at(
    place: Place, seeds: Sequence[int], plans: Sequence[str], experiment: Experiment
) -> Iterator[dict[str, object]]:
    """The rows of a network and load."""
    for name in plans:
        plan = experiment.plan(name)
        for variant in plan.variants:
            if variant == plan.baseline:
                continue
            pairs = [
                (place.played(seed, plan.baseline, experiment), place.played(seed, variant, experiment))
                for seed in seeds
            ]
            ((knob, level),) = set(variant.levels) - set(plan.baseline.levels)
            where = {"engine": place.engine, "network": place.network, "load": float(place.load)}
            yield from rows_of(where, name, f"{knob}={level}", pairs)


def rows_of_comparison(plan: str, change: str, folder: Path) -> Iterator[dict[str, object]]:
    """The rows of a comparison of options, whose runs are in ``folder``: SEED/options=LEVEL below it."""
    default = f"options={DEFAULT_OPTIONS}"
    pairs = [
        (other.with_name(default), other)
        for seed in sorted(folder.iterdir(), key=lambda each: int(each.name))
        for other in sorted(seed.iterdir())
        if other.name != default
        and all((run / PROVENANCE_FILE).is_file() for run in (other.with_name(default), other))
    ]
    where = {"engine": folder.parent.parent.name, "network": folder.name, "load": 1.0}
    return rows_of(where, plan, change, pairs)


def rows_of(
    where: Mapping[str, object], plan: str, change: str, pairs: Sequence[tuple[Path, Path]]
) -> Iterator[dict[str, object]]:
    """A row for each measure of ``pairs`` of runs, without and with the ``change``."""
    found: dict[Measure, list[float]] = {}
    for one, other in pairs:
        for measure, value in changes_between(one, other):
            found.setdefault(measure, []).append(value)
    used = float(np.mean([utilisation(one) for one, _ in pairs]))
    for (kind, metric, statistic), values in found.items():
        interval = t_interval([value for value in values if np.isfinite(value)])
        yield {
            **where,
            "utilisation": round(used, 3),
            "plan": plan,
            "change": change,
            "kind": kind,
            "metric": metric,
            "statistic": statistic,
            "networks": interval.networks,
            "mean": round(float(np.expm1(interval.mean)), 4),
            "low": round(float(np.expm1(interval.low)), 4),
            "high": round(float(np.expm1(interval.high)), 4),
        }


def with_rows(file: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` in place of the same ones in ``file``."""
    if not file.is_file():
        return rows
    kept = pl.read_csv(file, schema=rows.schema).join(rows, on=ROWS_OF, how="anti")
    return pl.concat([kept, rows]).sort(*ROWS_OF, maintain_order=True)


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each change, load, network and engine, with a column for each measure: its mean and its
    interval, in per cent."""
    per_cent = [
        pl.col(name).map_elements(lambda share: f"{100 * share:+.1f}", pl.String)
        for name in ("mean", "low", "high")
    ]
    # One network, or none of which changes, leaves no interval.
    alone = pl.col("low").is_nan() | pl.col("low").is_null()
    texts = rows.filter(pl.col("statistic") != "p90").with_columns(
        text=pl.when(alone).then(per_cent[0]).otherwise(pl.format("{} [{}, {}]", *per_cent)),
        column=pl.concat_str("kind", "metric", "statistic", separator="_"),
    )
    order = ["change", "load", "network", "engine"]
    wide = texts.pivot("column", index=[*order, "utilisation"], values="text").sort(
        order, descending=[False, False, True, False]
    )
    networks = rows.group_by(ROWS_OF).agg(pl.col("networks").max())
    wide = wide.join(networks, on=ROWS_OF, maintain_order="left")
    return wide.join(_fits(rows), on=ROWS_OF, how="left", maintain_order="left")


def _fits(rows: pl.DataFrame) -> pl.DataFrame:
    """How many of the measures in which the reference shows more than :data:`LEAST_SIZE` a network has with
    the same sign and, within a factor of 1.5, the same size."""
    measure = ["load", "change", "kind", "metric", "statistic"]
    there = (pl.col("low") > 0) | (pl.col("high") < 0)
    reference = rows.filter(pl.col("statistic") != "p90", there, network=REFERENCE, engine=MODEL_ENGINE)
    reference = reference.filter(pl.col("mean").abs() > LEAST_SIZE).select(*measure, there="mean")
    ratio = pl.col("mean").log1p() / pl.col("there").log1p()
    pairs = rows.join(reference, on=measure).with_columns(fit=ratio.is_between(1 / FACTOR, FACTOR))
    return pairs.group_by(ROWS_OF).agg(fits=pl.format("{} of {}", pl.col("fit").sum(), pl.len()))


def main(arguments: list[str] | None = None) -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.what_is_seen")
    parser.add_argument("networks_of", nargs="*", metavar="NETWORK", help="configurations")
    parser.add_argument("--engine", choices=(MODEL_ENGINE, "emulation", "shadow"), default=MODEL_ENGINE)
    parser.add_argument("--networks", type=int, default=3, help="how many of each")
    parser.add_argument("--loads", nargs="+", default=["1", "1.5"])
    parser.add_argument("--plans", nargs="+", help="of the experiment; all when left out")
    parser.add_argument("--queue", help="before links, in place of the network's: a level of link_queue")
    parser.add_argument("--warm-up", default="30 s")
    parser.add_argument("--measured", default="2 min")
    parser.add_argument("--runs", type=Path, default=Path("results/seen"), help="a folder for runs")
    parser.add_argument(
        "--compared", nargs=3, action="append", default=[], metavar=("PLAN", "CHANGE", "FOLDER")
    )
    parser.add_argument("--out", type=Path, default=SEEN_FILE)
    parser.add_argument("--table", type=Path, help="a CSV for documents")
    options = parser.parse_args(arguments)
    durations = {"warm_up": options.warm_up, "client_start_window": options.warm_up}
    experiment = load_experiment(EXPERIMENT, {**durations, "measured": options.measured})
    plans, seeds = options.plans or experiment.plan_names, range(1, options.networks + 1)
    for load, network in product(options.loads, options.networks_of):
        place = Place(options.engine, network, load, options.queue, options.runs)
        rows = pl.DataFrame(list(rows_at(place, seeds, plans, experiment)))
        write_text(options.out, with_rows(options.out, rows).write_csv())
    for plan, change, folder in options.compared:
        rows = pl.DataFrame(list(rows_of_comparison(plan, change, Path(folder))))
        write_text(options.out, with_rows(options.out, rows).write_csv())
    if options.table:
        write_text(options.table, table(pl.read_csv(options.out)).write_csv())


if __name__ == "__main__":
    main()
