"""Gather the runs of one plan into tables.

In: run directories (``run.json``, ``provenance.json`` and tables), each in a folder named by its variant, in
the order of levels in tables and figures. Out: in one folder, with their checksums in ``provenance.json``,
the tables of all runs, and ``passages``, from the cells of runs that traced them, ``relay_rates``, from the
runs' networks, and ``clients``, from these and from whole runs. All have every run's rows, after a column
``seed`` and one text column per knob; a run without a table has no rows in it. ``streams`` has the relays of
each circuit. Rows of the warm-up are cut: downloads and pages by their end, so that one under way when the
warm-up ends stays; their progress and their ways by their start, circuits by their launch, the rest by time.
Costs are those of whole runs. What the runs were is in the files' key-value metadata.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.knobs import network_levels
from torsweep.config.replicates import SAME_FOR_ALL, ReplicatesByLevel, first_seeds
from torsweep.config.tracing import Record
from torsweep.config.variant import variant_text
from torsweep.engines.cell_ring import scan_cells
from torsweep.engines.draws import PAGE
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.table_schema import (
    BREAKDOWN,
    CIRCUITS,
    CLIENTS,
    COSTS,
    PASSAGES,
    PROGRESS,
    RECEIVED,
    RELAY_RATES,
    RELAYS,
    ROUND_TRIPS,
    SETTINGS,
    STREAMS,
    WIRE,
    TableSchema,
)
from torsweep.errors import InputError
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.runsets.passages import passages
from torsweep.runsets.plan_tables import (
    DIMENSIONS,
    IMPORT,
    METADATA_KEY,
    REPEAT,
    SOURCE,
    SOURCES_JOINED_BY,
    Provenance,
    SourceRecord,
)
from torsweep.runsets.run import GIVEN, Run, open_run, read_table, with_paths
from torsweep.storage import changed_since, whole_file, with_table_checksums, write_text
from torsweep.storage.folders import TABLES_FOLDER, own_folder

NOT_OF_ALL = (CIRCUITS, RECEIVED, WIRE, ROUND_TRIPS, COSTS, SETTINGS)
"""Tables that a run may lack: an engine, or a program of others whose results were imported, had none."""

TOR = "tor"
"""The knob whose levels are builds of tor."""

TOR_PART = ", tor "
"""Before the version of tor, the last part of an engine's version."""


def gather_provenance(
    runs: Sequence[Run], network: str, plan: str, replicates: ReplicatesByLevel = SAME_FOR_ALL
) -> Provenance:
    """The provenance of ``runs`` together.

    Raises InputError when they do not belong together: another experiment, era or duration; of one source,
    another engine, version, build of tor for one level of the knob ``tor``, or paths given to some alone; a
    variant twice; variants of a seed on different networks. In a set of one source, every variant has one of
    the seeds each; a set of several may have what has run.
    """
    if not runs:
        raise InputError("no run directories were given", accepted="one or more")
    first = runs[0]
    shared = {
        key: _agreed(runs, key, operator.attrgetter(key))
        for key in ("experiment", "era", "warm_up_ns", "duration_ns")
    }
    of_sources: dict[str, list[Run]] = {}
    for run in runs:
        of_sources.setdefault(run.variant.get(SOURCE) or run.variant.get(IMPORT, run.engine), []).append(run)
    if SOURCE in first.variant:
        _check_alike(runs)
    else:
        _agreed(runs, "engine", lambda run: run.engine)
    sources = [_source_record(label, own) for label, own in of_sources.items()]
    told = [one for one in sources if not one.label.endswith(REPEAT)]
    versions = [f"{one.label}: {one.engine_version}" if len(told) > 1 else one.engine_version for one in told]
    knobs = {knob: list(dict.fromkeys(_level(run, knob, first) for run in runs)) for knob in first.variant}
    seeds = sorted({run.seed for run in runs})
    _check_grid(runs, seeds, replicates)
    return Provenance(
        **shared,
        engine=SOURCES_JOINED_BY.join(one.label for one in told) if SOURCE in first.variant else first.engine,
        engine_version="; ".join(versions),
        builds=_builds(runs),
        network=network,
        plan=plan,
        given_networks=len({run.provenance[GIVEN] for run in runs if GIVEN in run.provenance}),
        knobs=knobs,
        seeds=seeds,
        records=_agreed(runs, "records", _records),
        runs=[
            {
                "variant": dict(run.variant),
                "seed": run.seed,
                "network_sha256": run.network_sha256,
                "run_sha256": run.run_sha256,
            }
            for run in runs
        ],
        sources=sources if SOURCE in first.variant else [],
    )


def _source_record(label: str, runs: Sequence[Run]) -> SourceRecord:
    """Of ``runs`` that agree; else InputError."""
    engine = _agreed(runs, "engine", lambda run: run.engine)
    transport = _agreed(runs, "transport", lambda run: run.transport)
    _agreed(runs, "paths", lambda run: "tor's own" if not run.spec or run.spec.paths is None else "given")
    return SourceRecord(label, engine, _version(runs), transport)


def _check_alike(runs: Sequence[Run]) -> None:
    """InputError unless all runs of a variant tell tor and clients the same."""
    by_variant: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        levels = tuple(level for knob, level in run.variant.items() if knob != SOURCE)
        by_variant.setdefault(levels, []).append(run)
    for own in by_variant.values():
        _agreed(own, "tor", lambda run: run.spec and run.spec.tor)
        _agreed(own, "traffic", lambda run: run.spec and run.spec.traffic)


def _levels_of_tor(runs: Sequence[Run]) -> dict[str, list[Run]]:
    levels: dict[str, list[Run]] = {}
    for run in runs:
        if TOR in run.variant:
            levels.setdefault(run.variant[TOR], []).append(run)
    return levels


def _builds(runs: Sequence[Run]) -> dict[str, list[str]]:
    return {level: list(_spec(own[0]).builds) for level, own in _levels_of_tor(runs).items()}


def _version(runs: Sequence[Run]) -> str:
    """The version of the engine of ``runs``, with the builds of tor of each level where tor is a knob.
    InputError when runs of one level, or of a plan without that knob, differ in either; when two levels have
    the same build, unless they differ by chance alone."""
    levels = _levels_of_tor(runs)
    if not levels:
        _agreed(runs, "tor_build", lambda run: list(run.spec.builds) if run.spec else [])
        return str(_agreed(runs, "engine_version", lambda run: run.engine_version))
    seen: dict[object, str] = {}
    for level, own in levels.items():
        _agreed(own, f"builds of tor={level}", lambda run: list(_spec(run).builds))
        spec = _spec(own[0])
        same = seen.setdefault((spec.tor_build, str(spec.other_builds), spec.repeat), level)
        if same != level:
            problem = f"the levels {same} and {level} of tor are the same build"
            raise InputError(problem, file=own[0].directory, key=TOR, value=spec.tor_build)
    version = _agreed(runs, "engine_version", lambda run: run.engine_version.partition(TOR_PART)[0])
    named = ", ".join(f"{' and '.join(builds)} ({level})" for level, builds in _builds(runs).items())
    return f"{version}{TOR_PART}{named}"


def _spec(run: Run) -> RunSpec:
    assert run.spec is not None, "only runs of an engine have builds of tor"
    return run.spec


def _records(run: Run) -> list[Record]:
    if run.spec is None:
        return []
    tracing = run.spec.tracing
    hosts, downloads = (tracing.hosts, tracing.downloads) if tracing else ((), 0)
    wanted: dict[Record, object] = {
        "progress": run.spec.tables.progress,
        "cells": hosts,
        "breakdown": downloads,
    }
    return [record for record, is_wanted in wanted.items() if is_wanted]


def _agreed(runs: Sequence[Run], key: str, value_of: Callable[[Run], Any]) -> Any:
    first = value_of(runs[0])
    for run in runs:
        value = value_of(run)
        if value != first:
            short = isinstance(value, str | int | list)
            problem, accepted = f"cannot be in one table with {runs[0]}", str(first) if short else "the same"
            got = value if short else None
            raise InputError(problem, file=run.directory, key=key, value=got, accepted=accepted)
    return first


def _level(run: Run, knob: str, first: Run) -> str:
    if list(run.variant) != list(first.variant):
        accepted = ", ".join(first.variant)
        raise InputError(f"varies other knobs than {first}", file=run.directory, accepted=accepted)
    return run.variant[knob]


def _check_grid(runs: Sequence[Run], seeds: list[int], replicates: ReplicatesByLevel) -> None:
    """Every variant has every seed once, so that differences between variants can be paired; or as many of
    the first seeds as ``replicates`` says for its level. Simulations of an import may share a network, and
    sets of several sources lack runs."""
    known: dict[tuple[str, int], Run] = {}
    for run in runs:
        key = (variant_text(run.variant), run.seed)
        if key in known and IMPORT not in run.variant:
            raise InputError(f"is the same variant and seed as {known[key]}", file=run.directory)
        known[key] = run
    if not set(DIMENSIONS) & set(runs[0].variant):
        for name, variant in {variant_text(run.variant): run.variant for run in runs}.items():
            for seed in first_seeds(replicates, variant, seeds):
                if (name, seed) not in known:
                    found, accepted = f"seed {seed}", "every seed of the plan"
                    raise InputError("a run is missing", key=name, value=found, accepted=accepted)
    first_on: dict[tuple[object, ...], Run] = {}
    for run in runs:
        first = first_on.setdefault((run.seed, *network_levels(run.variant).values()), run)
        if first.network_sha256 != run.network_sha256:
            problem = f"ran on another network than {first}"
            raise InputError(problem, file=run.directory, key="network_sha256")


def collect(
    runs_or_folders: Sequence[Run | Path],
    out: Path,
    *,
    network: str,
    plan: str = "main",
    replicates: ReplicatesByLevel = SAME_FOR_ALL,
) -> Provenance:
    """Write the tables of these runs to ``out``; see the module's docstring.

    ``network`` names the configuration of the networks; ``replicates`` are the experiment's, of which numbers
    of networks by level count.
    """
    runs = [open_run(run) if isinstance(run, Path) else run for run in runs_or_folders]
    provenance = gather_provenance(runs, network, plan, replicates)
    networks = _networks(runs)
    relay_rates = pl.concat(_relay_rates(run, networks[run.network_sha256]) for run in runs)
    clients = pl.concat(_clients(run, networks[run.network_sha256]) for run in runs)
    own_folder(out, TABLES_FOLDER)
    (out / PROVENANCE_FILE).unlink(missing_ok=True)
    provenance = _write_passages(runs, provenance, out)
    _write_frame(relay_rates, RELAY_RATES, provenance, out)
    _write_frame(clients, CLIENTS, provenance, out)
    for schema in (STREAMS, RELAYS, PROGRESS, BREAKDOWN, *NOT_OF_ALL):
        _write(runs, schema, provenance, out)
    document = with_table_checksums({"format": "torsweep-tables", "format_version": 1}, out)
    write_text(out / PROVENANCE_FILE, json.dumps(document, indent=1) + "\n")
    return provenance


def _write(runs: Sequence[Run], schema: TableSchema, provenance: Provenance, out: Path) -> None:
    # A knob may have the name of a column, as `streams` has: the column of such a plan is left out.
    columns = [one.name for one in (*schema.columns, *schema.in_plans) if one.name not in provenance.knobs]
    frames = [_measured(run, schema).select(*_keys(run), *columns) for run in runs]
    _write_frame(pl.concat(frames), schema, provenance, out)


def _keys(run: Run) -> list[pl.Expr]:
    keys = [pl.lit(run.seed, pl.Int64).alias("seed")]
    return keys + [pl.lit(level, pl.String).alias(knob) for knob, level in run.variant.items()]


def _write_frame(frame: pl.DataFrame, schema: TableSchema, provenance: Provenance, out: Path) -> None:
    with whole_file(out / schema.file) as temporary:
        frame.write_parquet(temporary, compression="zstd", metadata={METADATA_KEY: provenance.to_json()})


def _networks(runs: Sequence[Run]) -> dict[str, Network | None]:
    """By their checksums, as far as they are still there."""
    networks: dict[str, Network | None] = {}
    for run in runs:
        sha256 = run.network_sha256
        if sha256 in networks:
            continue
        directory = run.directory / run.spec.network if run.spec else run.directory
        file = directory / NETWORK_FILE
        if file.exists() and sha256_of_file(file) != sha256:
            raise changed_since("has changed since it was run on", file, directory)
        networks[sha256] = read_network(directory, latency=False)[0] if file.exists() else None
    return networks


def _relay_rates(run: Run, network: Network | None) -> pl.DataFrame:
    measured_s = (run.duration_ns - run.warm_up_ns) / 1e9
    rows = []
    for relay in network.relays if network else ():
        by_bucket = relay.burst_bytes + relay.rate_bytes_per_s * measured_s
        most = int(min(relay.capacity_bytes_per_s * measured_s, by_bucket))
        rows.append((relay.name, relay.position, relay.usable_bytes_per_s, most))
    return pl.DataFrame(rows, RELAY_RATES.polars, orient="row").select(*_keys(run), *RELAY_RATES.polars)


def _clients(run: Run, network: Network | None) -> pl.DataFrame:
    """A row for each client of the kinds with downloads: what it did in the whole run."""
    latest_us = pl.coalesce("last_byte_us", "latest_byte_us")
    reached_us = pl.col("start_us") + latest_us
    unknown = latest_us.is_null() & pl.col("first_byte_us").is_not_null()
    streams = read_table(run.directory, STREAMS)
    began = streams.group_by("client", "kind", maintain_order=True).agg(
        last_us=(pl.col("start_us") + pl.col("observed_us")).max(),
        latest_byte_us=reached_us.max(),
        latest_known=~unknown.any(),
    )
    named = ("client", "kind", "country", "continent")
    rows = [(one.name, one.kind, one.country, one.continent) for one in (network.clients if network else ())]
    listed = pl.DataFrame(rows, dict.fromkeys(named, pl.String), orient="row")
    absent = listed.filter(pl.col("kind").is_in(began["kind"].unique().to_list())).join(
        began, on=["client", "kind"], how="anti", maintain_order="left"
    )
    absent = absent.select("client", "kind", latest_known=pl.lit(True))
    clients = pl.concat([began, absent], how="diagonal")
    clients = clients.join(listed.drop("kind"), on="client", how="left", maintain_order="left")
    return clients.select(*_keys(run), *CLIENTS.polars)


def _write_passages(runs: Sequence[Run], provenance: Provenance, out: Path) -> Provenance:
    """Write the passages of all runs; the provenance with what each run says of the downloads that it
    followed, of its hosts' clocks, and how many of its cells have none."""
    frames, counted = [], []
    for run, entry in zip(runs, provenance.runs, strict=True):
        frame, counts = _passages(run)
        frames.append(frame.select(*_keys(run), *PASSAGES.polars))
        followed = run.provenance.get("followed_downloads")
        checks = {"followed_downloads": followed} if followed else {}
        found = {"checks": checks, "cells": counts}
        counted.append({**entry, **{key: value for key, value in found.items() if value}})
    provenance = replace(provenance, runs=counted)
    _write_frame(pl.concat(frames), PASSAGES, provenance, out)
    return provenance


def _passages(run: Run) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    if not (run.spec and run.spec.tracing):
        return pl.DataFrame(schema=PASSAGES.polars), {}
    frame, counts = passages(scan_cells(run.directory))
    lost = {
        host: {"overwritten": of.get("overwritten", 0), "torn": of.get("torn", 0)}
        for host, of in run.provenance.get("tracing", {}).items()
    }
    of_hosts = {host: {**asdict(count), **lost.get(host, {})} for host, count in counts.items()}
    measured = pl.col("start_ns").is_between(run.warm_up_ns, run.duration_ns, closed="left")
    return frame.filter(measured), of_hosts


def _measured(run: Run, schema: TableSchema) -> pl.DataFrame:
    """The rows of a table of ``run`` without those of the warm-up; what a download has goes with it."""
    if schema is BREAKDOWN and not (run.spec and run.spec.tracing):
        return pl.DataFrame(schema=BREAKDOWN.polars)
    if schema in NOT_OF_ALL and not (run.directory / schema.file).exists():
        return pl.DataFrame(schema=schema.polars)
    # open_run has compared the checksums.
    frame = read_table(run.directory, schema)
    warm_up_us = run.warm_up_ns // 1000
    if schema is STREAMS:
        # A page keeps all its objects or none.
        page = pl.when(pl.col("stream") >= PAGE).then(pl.col("stream") // PAGE).otherwise(-pl.col("stream"))
        late, ends_us = pl.col("start_us") >= warm_up_us, pl.col("start_us") + pl.col("observed_us")
        measured = frame.filter((late | (ends_us > warm_up_us)).any().over("client", page))
        return with_paths(measured, run.directory)
    if schema in (PROGRESS, BREAKDOWN):
        streams = read_table(run.directory, STREAMS).filter(pl.col("start_us") >= warm_up_us)
        downloads = streams.select("client", "stream")
        return frame.join(downloads, on=["client", "stream"], how="semi", maintain_order="left")
    time_us = _TIME_US.get(schema.name)
    return frame if time_us is None else frame.filter(time_us >= warm_up_us)


_SECOND_US = pl.col("second").cast(pl.Int64) * 1_000_000
_TIME_US = {
    **dict.fromkeys((RELAYS.name, RECEIVED.name, WIRE.name), _SECOND_US),
    CIRCUITS.name: pl.coalesce("launched_us", "built_us"),
    ROUND_TRIPS.name: pl.col("time_us"),
}
"""The time, µs, by which the rows of a table are cut; other tables have none."""
