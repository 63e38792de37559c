"""What networks show of known changes: by this table networks of `torsweep compare` are judged.

    python -m experiments.known_changes.scripts.seen own_rates eight_relays small_live --networks 4

In: networks, an engine, and the plans of this experiment, each of which turns one knob. Out: in ``seen.csv``
beside the experiment a row for each engine, network, load, change and measure: how much longer it takes with
the change, the mean over networks with a 95 % interval; ``docs/tables/what_is_seen.csv`` for documents; and
in ``configs/blind.csv`` what each network cannot show. Rows of the same engine, network, load and change are
replaced, all others stay; finished runs in ``--runs`` are taken as they are.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import log1p
from pathlib import Path

import numpy as np
import polars as pl

from bench.run_pairs import Measure, changes_between, utilisation
from bench.writing import end_with
from torsweep.config.eras import usual_levels
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.network import load_network_config
from torsweep.config.reading import parse_scalar
from torsweep.config.traffic import KIND_NAMES
from torsweep.config.variant import Plan, Variant
from torsweep.engines.host_choice import RunTors
from torsweep.engines.prepare import build_run
from torsweep.engines.registry import MODEL_ENGINE, find_engine
from torsweep.engines.run_settings import run_settings, tor_builds
from torsweep.engines.run_spec import write_run
from torsweep.network.model import write_network
from torsweep.network.sampling import sample_network
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.comparison_rows import BYTES
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.text import percent_text
from torsweep.storage import write_text
from torsweep.study.sight import BLIND_FILE

SEEN, TABLE = Path("experiments/known_changes/seen.csv"), Path("docs/tables/what_is_seen.csv")
ROWS_OF = ["engine", "network", "load", "change"]

REFERENCE = "own_rates"
"""The network beside which the others are judged: relays at their own rates, a public load."""

NONE_WITHIN, LEAST = 0.05, 0.5
"""The reference shows what is more than the first; a network sees it where it has this part of it, as a ratio
of logarithms."""

SORTS = {
    "the scheduler": (("main", "policy", "half_life"), "schedulers$|kist|circuitpriority|circuitpolicy"),
    "windows and congestion control": (("windows",), "cc_|circwindow|circ_max_cell|sendme"),
    "guards": (("guards",), ".*guard"),
    "the refill of token buckets": (("refill",), "tokenbucket|perconnbw"),
    "Nagle's algorithm": (("nagle",), "tcpnodelay"),
}
"""Sorts of change: the plans, and how names of options begin."""


def played(
    folder: Path, engine: str, network: str, load: str, seed: int, variant: Variant, of: Experiment
) -> Path:
    """The finished run of ``variant`` on network ``seed``, below ``folder``."""
    usual = usual_levels(of.era)
    variant = Variant(tuple((knob, level) for knob, level in variant.levels if usual[knob] != level))
    place = folder / f"{Path(network).stem}+load={load}" / str(seed)
    run = place / engine / (variant.key or "baseline")
    if (run / PROVENANCE_FILE).is_file():
        return run
    sampled = sample_network(load_network_config(network, {"load": parse_scalar(load)}), seed)
    write_network(sampled.network, sampled.matrix_us, place / "network")
    program, tors = find_engine(engine), of.tors_of(variant)
    used = RunTors(tors, tor_builds(program, of.all_tors, tors.names, {}), of.bundle(variant))
    write_run(
        build_run(run_settings(of, engine, of.era, variant), variant, place / "network", run, used), run
    )
    subprocess.run([*shlex.split(program.command), "run", str(run)], check=True)
    return run


def _changed(plan: Plan, variant: Variant) -> dict[str, object]:
    ((knob, level),) = set(variant.levels) - set(plan.baseline.levels)
    return {"plan": plan.name, "change": f"{knob}={level}"}


def rows_of(
    where: Mapping[str, object], before: Sequence[Path], after: Sequence[Path]
) -> Iterator[dict[str, object]]:
    """A row for each measure of runs of the same networks, without and with a change."""
    found: dict[Measure, list[float]] = {}
    for one, other in zip(before, after, strict=True):
        for measure, value in changes_between(one, other):
            found.setdefault(measure, []).append(value)
    for measure, values in found.items():
        interval = t_interval([value for value in values if np.isfinite(value)])
        bounds = {"mean": interval.mean, "low": interval.low, "high": interval.high}
        yield {
            **where,
            **dict(zip(("kind", "metric", "statistic"), measure, strict=True)),
            "networks": interval.networks,
            **{name: round(float(np.expm1(value)), 4) for name, value in bounds.items()},
        }


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each change, load, network and engine, with a column for each measure in per cent. A measure
    that fewer networks have says of how many it is."""
    most = rows.select(*ROWS_OF, "networks").group_by(ROWS_OF).agg(of=pl.col("networks").max())
    per_cent = [
        pl.col(name).map_elements(lambda share: f"{100 * share:+.1f}", pl.String)
        for name in ("mean", "low", "high")
    ]
    # One network, or none of which changes, leaves no interval.
    alone = pl.col("low").is_nan() | pl.col("low").is_null()
    text = pl.when(alone).then(per_cent[0]).otherwise(pl.format("{} [{}, {}]", *per_cent))
    fewer = (
        pl.when(pl.col("networks") < pl.col("of")).then(pl.format(" ({})", "networks")).otherwise(pl.lit(""))
    )
    texts = rows.join(most, on=ROWS_OF).filter(pl.col("networks") > 0, pl.col("statistic") != "p90")
    texts = texts.with_columns(
        text=text + fewer, column=pl.concat_str("kind", "metric", "statistic", separator="_")
    )
    order = ["change", "load", "network", "engine"]
    wide = texts.pivot("column", index=[*order, "utilisation", "of"], values="text").rename(
        {"of": "networks"}
    )
    return wide.sort(order, descending=[False, False, True, False])


def blind(rows: pl.DataFrame) -> Iterator[dict[str, str]]:
    """What each network cannot show: sorts of change of which the same download moves on the reference, and
    nowhere half as far in the same direction on this one: in real tor where that has run, else in the
    model."""
    rows = rows.filter(pl.col("load") == 1, pl.col("statistic") == "paired").sort("engine")
    key = ("change", "kind", "metric")
    # An emulation stands behind the model in this order, and takes its place.
    means = {(row["network"], *(row[name] for name in key)): row for row in rows.iter_rows(named=True)}
    for network, (sort, (plans, names)) in product(rows["network"].unique().sort(), SORTS.items()):
        there = rows.filter(pl.col("plan").is_in(plans), network=REFERENCE)
        there = there.filter((pl.col("low") > 0) | (pl.col("high") < 0))
        pairs = [
            (row, means.get((network, *(row[name] for name in key)), {}))
            for row in there.iter_rows(named=True)
            if abs(log1p(row["mean"])) > log1p(NONE_WITHIN)
        ]
        parts = [log1p(here["mean"]) / log1p(row["mean"]) if here else 0.0 for row, here in pairs]
        if pairs and max(parts) < LEAST:
            row, here = max(pairs, key=lambda pair: abs(log1p(pair[0]["mean"])))
            size = f"{percent_text(here['mean'])} in {here['engine']}" if here else "nothing"
            what = f"{row['change']}: {KIND_NAMES[row['kind']]}, {BYTES[row['metric']]} {size}"
            able = (
                f"--engine shadow --network {REFERENCE}, or in the model `snakemake --cores all known_changes"
            )
            able += f" --config engine={MODEL_ENGINE} network={REFERENCE} plan={plans[0]}`"
            why = f"{what}, {percent_text(row['mean'])} on {REFERENCE}"
            yield {"network": network, "names": names, "sentence": f"{sort} ({why}): ask with {able}"}


def main(arguments: list[str] | None = None) -> None:
    """Write the rows, and the table of all."""
    parser = argparse.ArgumentParser(prog="python -m experiments.known_changes.scripts.seen")
    parser.add_argument("names", nargs="+", metavar="NETWORK", help="configurations")
    parser.add_argument("--engine", default="cellsim")
    parser.add_argument("--networks", type=int, default=3, help="how many of each")
    parser.add_argument("--loads", nargs="+", default=["1", "1.5"])
    parser.add_argument("--plans", nargs="+", help="of the experiment; all when left out")
    parser.add_argument("--runs", type=Path, default=Path("results/seen"), help="a folder for runs")
    parser.add_argument("--out", type=Path, default=SEEN)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--blind", type=Path, default=BLIND_FILE)
    options = parser.parse_args(arguments)
    experiment = load_experiment("known_changes", {})
    for load, network, name in product(options.loads, options.names, options.plans or experiment.plan_names):
        plan = experiment.plan(name)
        runs: dict[Variant, list[Path]] = {}
        for seed, variant in product(range(1, options.networks + 1), plan.variants):
            run = played(options.runs, options.engine, network, load, seed, variant, experiment)
            runs.setdefault(variant, []).append(run)
        before = runs.pop(plan.baseline)
        used = round(float(np.mean([utilisation(run) for run in before])), 3)
        where = {"engine": options.engine, "network": network, "load": float(load)} | {"utilisation": used}
        rows = pl.DataFrame(
            [
                row
                for variant in runs
                for row in rows_of({**where, **_changed(plan, variant)}, before, runs[variant])
            ]
        )
        if options.out.is_file():
            old = pl.read_csv(options.out, schema=rows.schema).join(rows, on=ROWS_OF, how="anti")
            rows = pl.concat([old, rows]).sort(*ROWS_OF, maintain_order=True)
        write_text(options.out, rows.write_csv())
    seen = pl.read_csv(options.out)
    write_text(options.table, table(seen).write_csv())
    write_text(options.blind, pl.DataFrame(list(blind(seen))).write_csv())


if __name__ == "__main__":
    end_with(main)
