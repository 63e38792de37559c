"""A comparison of two tors that are alike, in the model, and what may go wrong with one of them.

In: networks of small_live, each run twice by cellsim; in the second run clients start up to a millisecond
later, and what differs follows from that. Out: the run directories; and ways to spoil the downloads of the
second run as a broken tor would: clients cut off, downloads that take longer.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from tests.prepared_runs import prepared_run, sampled_network
from tests.synthetic import record_tables
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.network import load_network_config
from torsweep.config.variant import PATHS
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.engines.table_schema import STREAMS
from torsweep.engines.tools import require_own_program
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import PlanTables
from torsweep.runsets.run import read_table
from torsweep.stats.claims import claims_of
from torsweep.stats.comparison import Comparison, comparison
from torsweep.stats.inference.interim import Design
from torsweep.stats.summarize import analyse
from torsweep.stats.verdicts import claims_file
from torsweep.study.questions import claims_of_study, known_spread

KNOB, BASELINE, CANDIDATE = "scheduler", "kist_10ms", "kist_20ms"
"""Names of the two sides; both run as the first says."""

NETWORK = "small_live"
WARM_UP_S, MEASURED_S = 20, 60
END_US = (WARM_UP_S + MEASURED_S) * 10**6
LATER_NS = 1_000_000
TIMES = [name for name in STREAMS.polars if name.endswith("_us") and name not in ("start_us", "observed_us")]
AFTER_COMMAND = [name for name in TIMES if name.endswith("_after_command_us")]
LATEST = "latest_byte_us"
SINCE_START = [name for name in TIMES if name not in AFTER_COMMAND]

Spoil = Callable[[pl.DataFrame, int], pl.DataFrame]
"""Downloads of a run, and the seed of its network → those that the broken tor gives."""


@cache
def experiment() -> Experiment:
    """Web and bulk clients of two sides, with the claims of `torsweep compare`."""
    keys = {
        "engines": [MODEL_ENGINE],
        "network": NETWORK,
        "replicates": 8,
        "first_seed": 1,
        "era": "today",
        "client_start_window": f"{WARM_UP_S} s",
        "warm_up": f"{WARM_UP_S} s",
        "measured": f"{MEASURED_S} s",
        "pairing": PATHS,
        "knobs": {KNOB: [BASELINE, CANDIDATE]},
        "baseline": {KNOB: BASELINE},
        "sensitivities": {},
        "claims": list(claims_of_study(load_network_config(NETWORK), KNOB, CANDIDATE, BASELINE, None, "")),
        "precision": {"spread": known_spread(NETWORK, [MODEL_ENGINE], "today", PATHS, MEASURED_S)},
    }
    return load_experiment("refill_sweep", keys)


def write_runs(folder: Path, seeds: Sequence[int]) -> None:
    """Run both sides on each network, ``SEED/VARIANT`` in ``folder``."""
    for seed in seeds:
        network = folder / "networks" / str(seed)
        sampled_network(network, NETWORK, seed)
        for level in (BASELINE, CANDIDATE):
            variant = experiment().variant(f"{KNOB}={level}")
            out = folder / str(seed) / variant.key
            out.mkdir(parents=True)
            run = prepared_run(network, out, f"{KNOB}={BASELINE}", of=experiment(), era="today")
            later_ns = LATER_NS if level == CANDIDATE else 0
            window_ns = run.client_start_window_ns + later_ns
            made = {"variant": dict(variant.levels), "client_start_window_ns": window_ns}
            run.model_copy(update=made).write(out)
            subprocess.run(
                [str(require_own_program(MODEL_ENGINE)), "run", str(out)], check=True, capture_output=True
            )


def compared(
    runs: Path, folder: Path, seeds: Sequence[int], spoil: Spoil | None = None, side: str = CANDIDATE
) -> Comparison:
    """What a comparison of the runs of these seeds says, one ``side`` spoilt; ``folder`` is scratch."""
    directories = []
    if spoil is not None:
        # A run names its network by the way from one to the other.
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        (folder / "runs/networks").symlink_to((runs / "networks").resolve())
    for seed in seeds:
        for level in (BASELINE, CANDIDATE):
            key = experiment().variant(f"{KNOB}={level}").key
            directory = runs / str(seed) / key
            if spoil is not None and level == side:
                directory = shutil.copytree(directory, folder / "runs" / str(seed) / key)
                spoilt = spoil(read_table(directory, STREAMS), seed)
                spoilt.write_parquet(directory / STREAMS.file)
                record_tables(directory)
            directories.append(directory)
    collect(directories, folder / "tables", network=NETWORK)
    analysis = analyse(PlanTables.open(folder / "tables"), experiment())
    analysis.design = Design().look(len(seeds))
    return comparison(claims_file(analysis), claims_of(experiment()))


def cut_off(share: float, latest_us: int) -> Spoil:
    """``share`` of web clients are cut off, each at a moment up to ``latest_us``: the download that is under
    way then, or the next one, gets nothing more and never ends."""

    def spoil(streams: pl.DataFrame, seed: int) -> pl.DataFrame:
        draw = np.random.default_rng(seed)
        web = sorted(streams.filter(kind="web")["client"].unique())
        chosen = draw.choice(web, round(share * len(web)), replace=False)
        moments = pl.DataFrame({"client": chosen, "cut_us": draw.integers(0, latest_us, len(chosen))})
        rows = streams.join(moments, on="client", how="left", maintain_order="left")
        over = pl.col("start_us") + pl.col("observed_us") > pl.col("cut_us")
        stuck = over & (over.cum_sum().over("client", order_by="start_us") == 1)
        rows = rows.with_columns(stuck=stuck.fill_null(False)).filter(
            ~over.fill_null(False) | pl.col("stuck")
        )
        left_us = pl.when("stuck").then((pl.col("cut_us") - pl.col("start_us")).clip(0))
        return ended(rows, left_us, pl.col("stuck")).select(list(STREAMS.polars))

    return spoil


def slower(
    factor: float,
    share: float = 1.0,
    seeds: Sequence[int] | None = None,
    slowest: bool = False,
    kinds: str = "",
) -> Spoil:
    """``share`` of downloads take ``factor`` times as long, in the networks of ``seeds`` or in all: any, or
    the ``slowest`` of web clients, or those of kinds whose names begin so."""

    def spoil(streams: pl.DataFrame, seed: int) -> pl.DataFrame:
        if seeds is not None and seed not in seeds:
            return streams
        hit = pl.Series(np.random.default_rng(seed).random(streams.height) < share)
        if slowest:
            web = pl.col("kind") == "web"
            late = pl.col("last_byte_us") > pl.col("last_byte_us").filter(web).quantile(1 - share)
            hit = streams.select((web & late).fill_null(False)).to_series()
        hit &= streams["kind"].cast(pl.String).str.starts_with(kinds)
        times = [*TIMES, "observed_us"]
        longer = [
            pl.when(hit).then((pl.col(name) * factor).round()).otherwise(name).alias(name) for name in times
        ]
        rows = streams.with_columns(longer).cast(dict.fromkeys(times, pl.Int64))
        left_us = END_US - pl.col("start_us")
        return ended(rows, left_us, pl.col("observed_us") > left_us)

    return spoil


def never_begun(share: float) -> Spoil:
    """``share`` of web clients begin no download."""

    def spoil(streams: pl.DataFrame, seed: int) -> pl.DataFrame:
        web = sorted(streams.filter(kind="web")["client"].unique())
        gone = np.random.default_rng(seed).choice(web, round(share * len(web)), replace=False)
        return streams.filter(~pl.col("client").is_in(gone.tolist()))

    return spoil


def refused(share: float) -> Spoil:
    """``share`` of the downloads of web clients fail at once."""

    def spoil(streams: pl.DataFrame, seed: int) -> pl.DataFrame:
        hit = pl.Series(np.random.default_rng(seed).random(streams.height) < share) & (
            streams["kind"] == "web"
        )
        got = {name: pl.when(~hit).then(name) for name in (*TIMES, LATEST)}
        return streams.with_columns(
            **got,
            observed_us=pl.when(hit).then(1_000).otherwise("observed_us"),
            outcome=pl.when(hit).then(pl.lit("failed")).otherwise(pl.col("outcome").cast(pl.String)),
        )

    return spoil


def both(one: Spoil, other: Spoil) -> Spoil:
    """First ``one``, then ``other``."""
    return lambda streams, seed: other(one(streams, seed), seed)


def ended(rows: pl.DataFrame, left_us: pl.Expr, which: pl.Expr) -> pl.DataFrame:
    """The downloads ``which`` got nothing later than ``left_us`` from their start, and never ended."""
    late = which & (pl.col("last_byte_us").is_null() | (pl.col("last_byte_us") > left_us))
    gone = {name: which & (pl.col(name) > left_us) for name in SINCE_START}
    gone |= {f"{name}_after_command_us": gone[f"{name}_us"] for name in ("first_byte", "last_byte")}
    kept = {name: pl.when(~when.fill_null(False)).then(name) for name, when in gone.items()}
    # Where the first byte came, the latest that came in time is not known to the microsecond.
    latest = pl.when(kept["first_byte_us"].is_not_null()).then(pl.min_horizontal(LATEST, left_us))
    kept[LATEST] = pl.when(which).then(latest).otherwise(LATEST)
    return rows.with_columns(
        **kept,
        observed_us=pl.when(late).then(END_US - pl.col("start_us")).otherwise("observed_us"),
        outcome=pl.when(late).then(pl.lit("unfinished")).otherwise(pl.col("outcome").cast(pl.String)),
        error=pl.when(~late).then("error"),
    )
