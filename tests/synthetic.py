"""Plausible runs without an engine: the tables of a sweep, drawn from simple distributions.

In: a folder, knobs, seeds, sizes. Out: run directories as an engine leaves them. Shorter refill intervals
give web clients shorter times, 1000 ms gives stairs, and each network has a speed of its own, so that
tests know what the statistics have to find.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from tests.small_network import equal_rtts, small_network
from tests.synthetic_cells import cells
from tests.synthetic_measures import measure_tables
from tests.synthetic_waits import waits
from torsweep import seeds
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.variant import Variant
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_schema import PROGRESS, RELAYS, STREAMS
from torsweep.network.model import NETWORK_FILE, POSITIONS, write_network
from torsweep.provenance import sha256_of_file
from torsweep.runsets.collect import collect
from torsweep.runsets.plan_tables import METADATA_KEY, PlanTables
from torsweep.stats.summarize import summarize, write_summary
from torsweep.storage import with_table_checksums

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
KNOBS = {"refill_interval": ["1000ms", "100ms", "10ms"], "circuit_policy": ["ewma", "round_robin"]}
RELAY_BYTES_PER_S = 1_000_000
INTERVAL_S = {"1000ms": 1.0, "100ms": 0.1, "10ms": 0.01}


@dataclass(frozen=True)
class Size:
    """How much of everything a run has; durations in seconds."""

    web_clients: int = 40
    bulk_clients: int = 6
    relays: int = 5
    warm_up_s: int = 30
    duration_s: int = 150


def write_sweep(
    folder: Path,
    knobs: Mapping[str, Sequence[str]] = KNOBS,
    run_seeds: Sequence[int] = (1, 2, 3),
    size: Size = Size(),
    experiment: str = "refill_sweep",
) -> list[Path]:
    """Write a run for each variant and seed; their folders in the order of the grid."""
    written = []
    for levels in product(*knobs.values()):
        variant = dict(zip(knobs, levels, strict=True))
        for seed in run_seeds:
            written.append(write_run(folder, variant, seed, size, experiment))
    return written


def write_run(
    folder: Path, variant: Mapping[str, str], seed: int, size: Size = Size(), experiment: str = "refill_sweep"
) -> Path:
    """One run directory, ``SEED/VARIANT`` in ``folder``."""
    network = f"{seed},load={variant.get('load', '')}"
    network_sha256 = _write_network(folder / str(seed) / "networks" / network, seed, size)
    directory, run = begin_run(folder, _experiment(experiment, size), variant, seed, network, network_sha256)
    downloads = streams(variant, seed, size)
    downloads.write_parquet(directory / "streams.parquet")
    relays(variant, seed, size).write_parquet(directory / "relays.parquet")
    pl.DataFrame(schema=PROGRESS.polars).write_parquet(directory / "progress.parquet")
    for schema, table in measure_tables(INTERVAL_S.get(variant.get("refill_interval", ""), 0.1), seed, size):
        table.write_parquet(directory / schema.file)
    if run.tracing is not None:
        traced = cells(variant, seed, run.tracing.hosts, size.warm_up_s, size.duration_s)
        traced.write_parquet(directory / "cells.parquet")
        waits(downloads, run.tracing.downloads).write_parquet(directory / "breakdown.parquet")
    provenance = {"engine": "cellsim", "engine_version": "0.1.0", "simulated_s": size.duration_s}
    finish_run(directory, **provenance)
    return directory


def begin_run(
    folder: Path,
    experiment: Experiment,
    variant: Mapping[str, str],
    seed: int,
    network: str,
    network_sha256: str,
) -> tuple[Path, RunSpec]:
    """The directory ``SEED/VARIANT`` in ``folder`` with a run.json, and what stands in it."""
    asked = Variant(tuple(variant.items()))
    directory = folder / str(seed) / asked.key
    directory.mkdir(parents=True)
    settings = dict(run_settings(experiment, "cellsim", "2012", asked))
    place = {"network": f"../networks/{network}", "network_sha256": network_sha256, "seed": seed}
    run = RunSpec(**settings, **place)
    run.write(directory)
    return directory, run


def gathered(runs: Sequence[Path], folder: Path, network: str = "ci", plan: str = "main") -> PlanTables:
    """The tables of ``runs``, which stand in ``folder``."""
    collect(runs, folder / "tables", network=network, plan=plan)
    return PlanTables.open(folder / "tables")


def summarized(tables: PlanTables, experiment: Experiment, folder: Path) -> Path:
    """``folder``/summaries, with what ``tables`` give."""
    write_summary(summarize(tables, experiment), folder / "summaries")
    return folder / "summaries"


def with_perf_clients(tables: PlanTables, folder: Path) -> PlanTables:
    """``tables`` again, in ``folder``: with each bulk client, a perf client with the same downloads."""
    streams = pl.read_parquet(tables.directory / "streams.parquet")
    bulk = streams.filter(pl.col("kind").cast(pl.String) == "bulk")
    perf = bulk.with_columns(kind=pl.lit("perf_5mib"), client="perf_" + pl.col("client").cast(pl.String))
    for table in tables.directory.glob("*.parquet"):
        shutil.copy(table, folder)
    both = pl.concat([streams, perf.cast(dict(streams.schema))])
    clients = pl.read_parquet(tables.directory / "clients.parquet")
    perf_clients = clients.filter(pl.col("kind") == "bulk").with_columns(
        kind=pl.lit("perf_5mib"), client="perf_" + pl.col("client")
    )
    metadata = {METADATA_KEY: tables.provenance.to_json()}
    both.write_parquet(folder / "streams.parquet", metadata=metadata)
    pl.concat([clients, perf_clients]).write_parquet(folder / "clients.parquet", metadata=metadata)
    record_tables(folder)
    return PlanTables.open(folder)


def _write_network(directory: Path, seed: int, size: Size) -> str:
    """The checksum of a network of this seed and load, which is written for the first run on it."""
    if not directory.exists():
        names = [f"web{number + 1}" for number in range(size.web_clients)]
        names += [f"bulk{number + 1}" for number in range(size.bulk_clients)]
        positions = [POSITIONS[number % len(POSITIONS)] for number in range(size.relays)]
        config = {"of": directory.name}
        network = small_network(positions, names, config=config, rate_bytes_per_s=RELAY_BYTES_PER_S)
        write_network(network, equal_rtts(network), directory)
    return sha256_of_file(directory / NETWORK_FILE)


def finish_run(directory: Path, **provenance: object) -> None:
    """Leave the provenance of an engine that has run what stands in ``directory``."""
    record = {"run_sha256": sha256_of_file(directory / "run.json"), **provenance}
    (directory / "provenance.json").write_text(json.dumps(record))
    record_tables(directory)


def record_tables(directory: Path) -> None:
    """Put the checksums of the tables in ``directory`` into its provenance.json."""
    file = directory / "provenance.json"
    record = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(with_table_checksums(record, directory)))


@functools.cache
def _experiment(name: str, size: Size) -> Experiment:
    measured = f"{size.duration_s - size.warm_up_s} s"
    return load_experiment(name, {"warm_up": f"{size.warm_up_s} s", "measured": measured})


def streams(variant: Mapping[str, str], seed: int, size: Size) -> pl.DataFrame:
    """Closed loops: each client downloads, pauses, downloads again until the end of the run."""
    speed = seeds.stream(seed, "speed").lognormal(0, 0.1)
    clients = [("web", i) for i in range(size.web_clients)] + [("bulk", i) for i in range(size.bulk_clients)]
    rows = []
    for kind, number in clients:
        generator = seeds.stream(seed, kind, number)
        now, stream = generator.uniform(0, size.warm_up_s / 3), 1
        while now < size.duration_s:
            rows.append(_download(variant, kind, number, stream, now, size.duration_s, speed, generator))
            if rows[-1]["outcome"] == "unfinished":
                break
            pause = generator.uniform(1, 30) if kind == "web" else 0.0
            now += rows[-1]["observed_us"] / 1e6 + pause
            stream += 1
    return pl.DataFrame(rows, schema=STREAMS.polars)


def _download(
    variant: Mapping[str, str],
    kind: str,
    number: int,
    stream: int,
    start_s: float,
    end_s: float,
    speed: float,
    generator: np.random.Generator,
) -> dict[str, object]:
    interval_s = INTERVAL_S.get(variant.get("refill_interval", "100ms"), 0.1)
    # The same number of draws in every variant, so that variants of a seed share theirs.
    noise, waits, within, failing, circuit = generator.random(5)
    first_s = speed * 0.35 * np.exp(0.5 * (noise * 2 - 1)) + 0.05
    if kind == "web":
        first_s += interval_s * (np.floor(-np.log(waits) * 1.2) + 0.35 * within)
    size_s = {"web": 1.5, "bulk": 14.0}[kind] * speed * (0.6 + noise) * (1 + 0.3 * interval_s)
    if variant.get("circuit_policy") == "round_robin":
        size_s *= 1.1 if kind == "web" else 0.9
    command_us, first_us = int(circuit * 30_000), int(first_s * 1e6)
    last_us, left_us = int((first_s + size_s) * 1e6), int((end_s - start_s) * 1e6)
    failed = failing < (0.04 if variant.get("refill_interval") == "1000ms" else 0.01)
    outcome, observed_us = ("failed", first_us // 2) if failed else ("complete", last_us)
    if observed_us > left_us:
        outcome, observed_us = "unfinished", left_us
    wanted = {"web": 300 * 1024, "bulk": 5 * 2**20}[kind]
    row: dict[str, object] = dict.fromkeys(STREAMS.polars)
    row |= {
        "client": f"{kind}{number + 1}",
        "kind": kind,
        "circuit": 1,
        "stream": stream,
        "server": "server1",
        "start_us": int(start_s * 1e6),
        "observed_us": observed_us,
        "bytes_wanted": wanted,
        "bytes_got": wanted if outcome == "complete" else 0,
        "outcome": outcome,
        "error": "circuit closed" if outcome == "failed" else None,
    }
    if command_us < observed_us:
        row |= {"socks_reply_us": 100, "command_us": command_us}
    if first_us <= observed_us:
        row |= {"first_byte_us": first_us, "first_byte_after_command_us": first_us - command_us}
        row |= {"latest_byte_us": max(first_us, observed_us - 1000)}
    if outcome == "complete":
        half_us, most_us = (int((first_s + share * size_s) * 1e6) for share in (0.5, 0.8))
        row |= {"half_us": half_us, "most_us": most_us}
        row |= {"last_byte_us": last_us, "latest_byte_us": last_us}
        row |= {"last_byte_after_command_us": last_us - command_us}
    return row


def relays(variant: Mapping[str, str], seed: int, size: Size) -> pl.DataFrame:
    """Queues that are longer for longer refill intervals and differ from relay to relay."""
    interval_s = INTERVAL_S.get(variant.get("refill_interval", "100ms"), 0.1)
    generator = seeds.stream(seed, "relays")
    seconds = np.repeat(np.arange(size.duration_s), size.relays)
    number = np.tile(np.arange(size.relays), size.duration_s)
    cells = (generator.gamma(2, 30, len(seconds)) * (1 + number) * (1 + 2 * interval_s)).astype(np.int64)
    return pl.DataFrame(
        {
            "second": seconds,
            "relay": [f"relay{n + 1}" for n in number],
            "bytes_in": cells * 514,
            "bytes_out": cells * 514,
            "queued_cells": cells,
            "queued_cells_max": cells * 2,
            "outbuf_bytes": cells * 100,
            "cpu_us": None,
        },
        schema=RELAYS.polars,
    )
