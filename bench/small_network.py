"""What making the public network small does to answers, in the model.

    nice python -m bench.small_network NAME=FILE.yaml … --seeds 16 --out docs/tables/small_networks.csv

In: configurations of networks. cellsim plays the baseline of ``scheduler_choice`` on ``--seeds`` networks of
each (1 min of warm-up, 2 min measured), and the same with one change: a knob of tor; or chance alone, which
is ``timing`` (clients start up to a millisecond later) or ``paths`` (circuits have other paths, too, as where
tor draws them). With all other changes, paths stay. Out: a row for each network, of web clients: medians, the
mean utilisation of relays, the standard deviation over networks of the logarithm of the ratio of medians for
chance, and the geometric mean of the ratio with its 95 % interval for knobs. Rows of other networks in
``--out`` stay.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from bench.run_medians import quantiles_of_run
from torsweep.config.experiment import load_experiment
from torsweep.config.network import NetworkConfig, load_network_config
from torsweep.config.reading import parse_settings
from torsweep.config.variant import PATHS, Variant
from torsweep.engines.paths import drawn_paths
from torsweep.engines.prepare import build_run, run_settings, write_run
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.selection import MODEL_ENGINE
from torsweep.engines.table_files import RELAYS_FILE
from torsweep.engines.tools import require_own_program
from torsweep.network.model import write_network
from torsweep.network.sampling import sample_network
from torsweep.seeds import repeat_seed
from torsweep.stats.inference.intervals import CONFIDENCE, t_quantile
from torsweep.storage import write_text

ERA = "today"
DURATIONS = {"client_start_window": "20 s", "warm_up": "60 s", "measured": "120 s", "pairing": PATHS}
CHANGES = {
    "round_robin": {"circuit_policy": "round_robin"},
    "fixed_windows": {"congestion": "fixed"},
    "kist_100ms": {"scheduler": "kist_100ms"},
}
SHIFT_NS = 1_000_000
METRICS = ("ttfb", "ttlb")


def play(config: NetworkConfig, seed: int, folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each run on the network of ``seed``: medians, and the utilisation of relays."""
    sampled = sample_network(config, seed)
    write_network(sampled.network, sampled.matrix_us, folder / "network")
    experiment = load_experiment("scheduler_choice", DURATIONS)
    usable_bytes_per_s = sum(relay.usable_bytes_per_s for relay in sampled.network.relays)

    def spec(levels: dict[str, str]) -> RunSpec:
        variant = Variant(tuple(levels.items()))
        settings = run_settings(experiment, MODEL_ENGINE, ERA, variant)
        return build_run(settings, variant, folder / "network", folder / "run")

    run = spec({})
    later = {"client_start_window_ns": run.client_start_window_ns + SHIFT_NS}
    again = sampled.network.model_copy(update={"seed": repeat_seed(seed)})
    paths = drawn_paths(again, run.tor.guards, run.traffic, run.duration_ns)
    runs = {"itself": run, "timing": run.model_copy(update=later)}
    runs["paths"] = run.model_copy(update={**later, "paths": paths})
    runs |= {name: spec(levels) for name, levels in CHANGES.items()}
    for change, each in runs.items():
        write_run(each, folder / "run")
        command = [str(require_own_program(MODEL_ENGINE)), "run", str(folder / "run")]
        subprocess.run(command, check=True, capture_output=True)
        relays = pl.read_parquet(folder / "run" / RELAYS_FILE, columns=["second", "bytes_out"])
        written = int(relays.filter(pl.col("second") >= run.warm_up_ns // 10**9)["bytes_out"].sum())
        used = written / (usable_bytes_per_s * (run.duration_ns - run.warm_up_ns) / 1e9)
        for row in quantiles_of_run(folder / "run").iter_rows(named=True):
            if row["metric"] in METRICS:
                medians = {"kind": str(row["kind"]), "metric": row["metric"], "median_s": row["median_s"]}
                yield {"seed": seed, "change": change, "utilisation": used, **medians}


def answers(rows: pl.DataFrame) -> pl.DataFrame:
    """For each change and metric of web clients: mean and standard deviation over networks of log ratios."""
    rows = rows.filter(kind="web")
    itself = rows.filter(change="itself").select("seed", "metric", "utilisation", base="median_s")
    ratio = (pl.col("median_s") / pl.col("base")).log()
    both = rows.filter(pl.col("change") != "itself").drop("utilisation")
    return (
        both.join(itself, on=["seed", "metric"])
        .group_by("change", "metric", maintain_order=True)
        .agg(
            networks=pl.len(),
            median_s=pl.col("base").median(),
            log_ratio_mean=ratio.mean(),
            log_ratio_sd=ratio.std(),
            utilisation=pl.col("utilisation").mean(),
        )
    )


def row(name: str, found: pl.DataFrame) -> dict[str, object]:
    """The row of a network: medians, the spread of chance, and factors of knobs with 95 % intervals."""
    cells: dict[str, object] = {"network": name}
    for each in found.iter_rows(named=True):
        what = f"{each['change']}_{each['metric']}"
        cells |= {"networks": each["networks"], "utilisation": each["utilisation"]}
        cells[f"{each['metric']}_s"] = each["median_s"]
        if each["change"] in CHANGES:
            half = t_quantile(CONFIDENCE, each["networks"]) * each["log_ratio_sd"] / each["networks"] ** 0.5
            ends = {"": 0.0, "_low": -half, "_high": half}
            cells |= {f"{what}{end}": math.exp(each["log_ratio_mean"] + by) for end, by in ends.items()}
        else:
            cells[f"{what}_sd"] = each["log_ratio_sd"]
    return cells


def main(arguments: list[str] | None = None) -> None:
    """Play the networks and write their rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.small_network")
    parser.add_argument("networks", nargs="+", metavar="NAME=CONFIG[,KEY=VALUE…]")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    for each in options.networks:
        name, _, source = each.partition("=")
        path, *overrides = source.split(",")
        config = load_network_config(path, parse_settings(overrides))
        rows = []
        for seed in range(1, options.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                rows += list(play(config, seed, Path(folder)))
        made = pl.DataFrame([row(name, answers(pl.DataFrame(rows, infer_schema_length=None)))])
        kept = pl.read_csv(options.out) if options.out.is_file() else made.clear()
        whole = pl.concat([kept.filter(pl.col("network") != name), made], how="vertical_relaxed")
        write_text(options.out, whole.write_csv(float_precision=4))


if __name__ == "__main__":
    main()
