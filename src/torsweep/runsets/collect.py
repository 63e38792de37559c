"""Gather the runs of one plan into tables.

In: run directories (``run.json``, ``provenance.json`` and tables), each in a folder named by its variant.
Out: in one folder, with their checksums in ``provenance.json``, the tables ``streams``, ``relays``,
``progress``, ``circuits``, ``received``, ``round_trips`` and ``costs`` of all runs; ``passages`` and
``breakdown``, from the cells and the downloads of runs that traced them; and ``relay_rates``, from the runs'
networks. All have every run's rows, after a column ``seed`` and one text column per knob. Not every engine
writes every table; a run without a table has no rows in it. Rows of the warm-up are cut (downloads by their
start, progress with its download, circuits by their launch, the rest by time; costs are those of whole runs);
what the runs were stands in the files' key-value metadata.

    torsweep results collect --network NAME [--plan main] [--replicates JSON] --out TABLES_DIR RUN_DIR...

The order of the run directories is the order of levels in tables and figures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.knobs import find_knob
from torsweep.config.replicates import AUTO, ReplicatesByLevel, first_seeds
from torsweep.config.tracing import Record
from torsweep.config.variant import variant_levels, variant_text
from torsweep.engines.cell_ring import scan_cells
from torsweep.engines.prepare import finished_run
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.engines.table_schema import (
    BREAKDOWN,
    CIRCUITS,
    COSTS,
    PASSAGES,
    PROGRESS,
    RECEIVED,
    RELAY_RATES,
    RELAYS,
    ROUND_TRIPS,
    STREAMS,
    WIRE,
    TableSchema,
    validate,
)
from torsweep.errors import InputError
from torsweep.formats import parquet
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE, read_network
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.runsets.passages import passages
from torsweep.runsets.reading import METADATA_KEY, Provenance
from torsweep.storage import whole_file, write_text
from torsweep.storage.folders import TABLES, own_folder
from torsweep.storage.manifest import changed_since, with_table_checksums

NOT_OF_ALL = (CIRCUITS, RECEIVED, WIRE, ROUND_TRIPS, COSTS)
"""Tables that a run may lack: an engine, or a program of others whose results were imported, had none."""

CHECKS = ("followed_downloads", "clocks")
"""What the tables of a plan say of a run beside its rows."""


GIVEN = "tornettools"
"""The key of the checksum of a network that tornettools made, in the provenance of a run on it."""

TOR = "tor"
"""The knob whose levels are builds of tor."""

TOR_PART = ", tor "
"""Before the version of tor, the last part of an engine's version."""


@dataclass(frozen=True)
class Run:
    """A run directory that is whole: what was asked (``spec``) and what the engine says (``provenance``)."""

    directory: Path
    spec: RunSpec
    provenance: dict[str, Any]

    @property
    def variant(self) -> dict[str, str]:
        """Knob to level, in the order of the folder's name."""
        return variant_levels(self.directory.name)

    def __str__(self) -> str:
        return str(self.directory)


def open_run(directory: Path) -> Run:
    """The run in ``directory``.

    Raises InputError when it is not finished, has changed since, was written by another version, or stands
    in a folder that is not named by its variant.
    """
    opened = Run(directory, read_run(directory), finished_run(directory))
    if not isinstance(opened.provenance.get("engine_version"), str):
        raise InputError("missing key", file=directory / PROVENANCE_FILE, key="engine_version")
    if opened.variant != dict(opened.spec.variant):
        raise InputError(
            "is not named by its variant",
            file=directory,
            accepted=variant_text(opened.spec.variant),
        )
    return opened


def read_table(run_directory: Path, schema: TableSchema, *, trusted: bool = False) -> pl.DataFrame:
    """The table of a run, warm-up and all; ``trusted`` says that its checksum has been compared.

    Raises InputError when it is missing, damaged, or does not fit ``schema``.
    """
    file = run_directory / schema.file
    return validate(parquet.read_frame(file, trusted=trusted), schema, file)


def core_seconds(run_directories: Sequence[Path]) -> float:
    """What the runs took of a core, seconds, as their engines say."""
    documents = (read_json(directory / PROVENANCE_FILE) for directory in run_directories)
    return sum(float(document.get("wall_s") or 0.0) for document in documents)


def gather_provenance(
    runs: Sequence[Run], network: str, plan: str, replicates: ReplicatesByLevel = AUTO
) -> Provenance:
    """The provenance of ``runs`` together.

    Raises InputError when they do not belong together: another experiment, engine, version, build of tor for
    one level of the knob ``tor``, era or duration, paths given to some alone, a variant twice or without one
    of the seeds, or variants of a seed on different networks.
    """
    if not runs:
        raise InputError("no run directories were given", accepted="one or more")
    first = runs[0]
    shared = {
        key: _agreed(runs, key, lambda run, key=key: getattr(run.spec, key))
        for key in ("experiment", "engine", "era", "warm_up_ns", "duration_ns")
    }
    _agreed(runs, "paths", lambda run: "tor's own" if run.spec.paths is None else "given")
    version, builds = _versions(runs)
    knobs = {knob: list(dict.fromkeys(_level(run, knob, first) for run in runs)) for knob in first.variant}
    seeds = sorted({run.spec.seed for run in runs})
    _check_grid(runs, seeds, replicates)
    return Provenance(
        **shared,
        engine_version=version,
        builds=builds,
        network=network,
        plan=plan,
        given_networks=len({run.provenance[GIVEN] for run in runs if GIVEN in run.provenance}),
        knobs=knobs,
        seeds=seeds,
        records=_agreed(runs, "records", lambda run: _records(run.spec)),
        runs=[
            {
                "variant": run.variant,
                "seed": run.spec.seed,
                "network_sha256": run.spec.network_sha256,
                "run_sha256": run.provenance["run_sha256"],
            }
            for run in runs
        ],
    )


def _versions(runs: Sequence[Run]) -> tuple[str, dict[str, list[str]]]:
    """The version of the engine, and where tor is a knob the builds of tor of each level, which it names too.

    Raises InputError when runs of one level, or of a plan without that knob, differ in either; when two
    levels have the same build, unless they differ by chance alone.
    """
    if TOR not in runs[0].variant:
        _agreed(runs, "tor_build", lambda run: list(run.spec.builds))
        return _agreed(runs, "engine_version", lambda run: run.provenance["engine_version"]), {}
    levels: dict[str, list[Run]] = {}
    for run in runs:
        levels.setdefault(run.variant.get(TOR, ""), []).append(run)
    seen: dict[object, str] = {}
    for level, own in levels.items():
        _agreed(own, f"builds of tor={level}", lambda run: list(run.spec.builds))
        spec = own[0].spec
        same = seen.setdefault((spec.tor_build, str(spec.other_builds), spec.repeat), level)
        if same != level:
            problem = f"the levels {same} and {level} of tor are the same build"
            raise InputError(problem, file=own[0].directory, key=TOR, value=spec.tor_build)
    version = _agreed(runs, "engine_version", lambda run: _without_tor(run.provenance["engine_version"]))
    builds = {level: list(own[0].spec.builds) for level, own in levels.items()}
    named = ", ".join(f"{' and '.join(of_level)} ({level})" for level, of_level in builds.items())
    return f"{version}{TOR_PART}{named}", builds


def _without_tor(version: str) -> str:
    return version.partition(TOR_PART)[0]


def _records(spec: RunSpec) -> list[Record]:
    """What a run recorded beside downloads and relays."""
    hosts, downloads = (spec.tracing.hosts, spec.tracing.downloads) if spec.tracing else ((), 0)
    asked: dict[Record, object] = {"progress": spec.tables.progress, "cells": hosts, "breakdown": downloads}
    return [record for record, there in asked.items() if there]


def _agreed(runs: Sequence[Run], key: str, value_of: Any) -> Any:
    first = value_of(runs[0])
    for run in runs:
        if value_of(run) != first:
            raise InputError(
                f"cannot stand in one table with {runs[0]}",
                file=run.directory,
                key=key,
                value=value_of(run),
                accepted=str(first),
            )
    return first


def _level(run: Run, knob: str, first: Run) -> str:
    if list(run.variant) != list(first.variant):
        raise InputError(
            f"varies other knobs than {first}", file=run.directory, accepted=", ".join(first.variant)
        )
    return run.variant[knob]


def _check_grid(runs: Sequence[Run], seeds: list[int], replicates: ReplicatesByLevel) -> None:
    """Every variant has every seed once, so that differences between variants can be paired; or as many of
    the first seeds as ``replicates`` says for its level."""
    found: dict[tuple[str, int], Run] = {}
    for run in runs:
        key = (run.directory.name, run.spec.seed)
        if key in found:
            raise InputError(f"is the same variant and seed as {found[key]}", file=run.directory)
        found[key] = run
    for run in {run.directory.name: run for run in runs}.values():
        for seed in first_seeds(replicates, run.variant, seeds):
            name = run.directory.name
            if (name, seed) not in found:
                raise InputError(
                    "a run is missing", key=name, value=f"seed {seed}", accepted="every seed of the plan"
                )
    networks: dict[tuple[int | str, ...], tuple[str, Run]] = {}
    for run in runs:
        levels = (level for knob, level in run.variant.items() if find_knob(knob).target == "network")
        network = networks.setdefault((run.spec.seed, *levels), (run.spec.network_sha256, run))
        if network[0] != run.spec.network_sha256:
            raise InputError(
                f"ran on another network than {network[1]}", file=run.directory, key="network_sha256"
            )


def collect(
    run_directories: Sequence[Path],
    out: Path,
    *,
    network: str,
    plan: str = "main",
    replicates: ReplicatesByLevel = AUTO,
) -> Provenance:
    """Write the tables of the runs in ``run_directories`` to ``out``; see the module's docstring.

    ``network`` and ``plan`` name the configuration of the networks and the part of the experiment;
    ``replicates`` are the experiment's, of which numbers of networks by level count.
    """
    runs = [open_run(directory) for directory in run_directories]
    provenance = gather_provenance(runs, network, plan, replicates)
    relay_rates = _relay_rates(runs)
    own_folder(out, TABLES)
    (out / PROVENANCE_FILE).unlink(missing_ok=True)
    provenance = _write_passages(runs, provenance, out)
    _write_frame(relay_rates, RELAY_RATES, provenance, out)
    for schema in (STREAMS, RELAYS, PROGRESS, BREAKDOWN, *NOT_OF_ALL):
        _write(runs, schema, provenance, out)
    document = with_table_checksums({"format": "torsweep-tables", "format_version": 1}, out)
    write_text(out / PROVENANCE_FILE, json.dumps(document, indent=1) + "\n")
    return provenance


def _write(runs: Sequence[Run], schema: TableSchema, provenance: Provenance, out: Path) -> None:
    # A knob may have the name of a column, as `streams` has: the column of such a plan is left out.
    columns = [name for name in schema.polars if name not in provenance.knobs]
    frames = [_measured(run, schema).select(*_keys(run), *columns) for run in runs]
    _write_frame(pl.concat(frames), schema, provenance, out)


def _keys(run: Run) -> list[pl.Expr]:
    keys = [pl.lit(run.spec.seed, pl.Int64).alias("seed")]
    return keys + [pl.lit(level, pl.String).alias(knob) for knob, level in run.variant.items()]


def _write_frame(frame: pl.DataFrame, schema: TableSchema, provenance: Provenance, out: Path) -> None:
    with whole_file(out / schema.file) as temporary:
        frame.write_parquet(temporary, compression="zstd", metadata={METADATA_KEY: provenance.to_json()})


def _relay_rates(runs: Sequence[Run]) -> pl.DataFrame:
    """What each relay can carry, from the networks of the runs, as far as these are still there."""
    known: dict[str, pl.DataFrame] = {}
    frames = []
    for run in runs:
        sha256 = run.spec.network_sha256
        if sha256 not in known:
            known[sha256] = _rates_in(run.directory / run.spec.network, sha256)
        frames.append(known[sha256].select(*_keys(run), *RELAY_RATES.polars))
    return pl.concat(frames)


def _rates_in(directory: Path, sha256: str) -> pl.DataFrame:
    file, rows = directory / NETWORK_FILE, []
    if file.exists():
        if sha256_of_file(file) != sha256:
            raise changed_since("has changed since it was run on", file, directory)
        network, _ = read_network(directory, latency=False)
        rows = [(relay.name, relay.position, relay.usable_bytes_per_s) for relay in network.relays]
    return pl.DataFrame(rows, RELAY_RATES.polars, orient="row")


def _write_passages(runs: Sequence[Run], provenance: Provenance, out: Path) -> Provenance:
    """Write the passages of all runs; the provenance with what each run says of the downloads that it
    followed, of its hosts' clocks, and how many of its cells have none."""
    frames, counted = [], []
    for run, entry in zip(runs, provenance.runs, strict=True):
        frame, counts = _passages(run)
        frames.append(frame.select(*_keys(run), *PASSAGES.polars))
        checks = {key: run.provenance[key] for key in CHECKS if run.provenance.get(key)}
        found = {"checks": checks, "cells": counts}
        counted.append({**entry, **{key: value for key, value in found.items() if value}})
    provenance = replace(provenance, runs=counted)
    _write_frame(pl.concat(frames), PASSAGES, provenance, out)
    return provenance


def _passages(run: Run) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    if run.spec.tracing is None:
        return pl.DataFrame(schema=PASSAGES.polars), {}
    frame, counts = passages(scan_cells(run.directory))
    lost = {
        host: {"overwritten": of.get("overwritten", 0), "torn": of.get("torn", 0)}
        for host, of in run.provenance.get("tracing", {}).items()
    }
    of_hosts = {host: {**asdict(count), **lost.get(host, {})} for host, count in counts.items()}
    measured = pl.col("start_ns").is_between(run.spec.warm_up_ns, run.spec.duration_ns, closed="left")
    return frame.filter(measured), of_hosts


def _measured(run: Run, schema: TableSchema) -> pl.DataFrame:
    """The rows of a table of ``run`` without those of the warm-up; what a download has goes with it."""
    if schema is BREAKDOWN and run.spec.tracing is None:
        return pl.DataFrame(schema=BREAKDOWN.polars)
    if schema in NOT_OF_ALL and not (run.directory / schema.file).exists():
        return pl.DataFrame(schema=schema.polars)
    # open_run has compared the checksums.
    frame = read_table(run.directory, schema, trusted=True)
    if schema in (PROGRESS, BREAKDOWN):
        downloads = _measured(run, STREAMS).select("client", "stream")
        return frame.join(downloads, on=["client", "stream"], how="semi", maintain_order="left")
    time_us = _TIME_US.get(schema.name)
    return frame if time_us is None else frame.filter(time_us >= run.spec.warm_up_ns // 1000)


_TIME_US = {
    STREAMS.name: pl.col("start_us"),
    RELAYS.name: pl.col("second").cast(pl.Int64) * 1_000_000,
    RECEIVED.name: pl.col("second").cast(pl.Int64) * 1_000_000,
    WIRE.name: pl.col("second").cast(pl.Int64) * 1_000_000,
    CIRCUITS.name: pl.coalesce("launched_us", "built_us"),
    ROUND_TRIPS.name: pl.col("time_us"),
}
"""The time, µs, by which the rows of a table are cut; other tables have none."""
