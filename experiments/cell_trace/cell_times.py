"""How long RELAY cells stay in a traced relay, and in which stage.

In: the passages of a plan (:mod:`torsweep.runsets.passages`). Out: cell_runs.csv, cell_times.csv,
cell_density.csv, cell_spikes.csv, cell_counts.csv and cell_load.csv.

Circuits are *quiet* with at most the first quartile of cells per circuit of the run, and *busy* with at least
the third quartile, as in the report of 2019; *busiest* is the one with the most cells. A cell's
stages are ``relaying`` (input buffer to circuit queue), ``waiting`` (in the queue) and ``writing`` (output
buffer to kernel); ``total`` is their sum. Times are exact to the clock, quantiles those of the cells
themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.cell_trace.spikes import find_period
from torsweep.config.tracing import STAGES
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.statistic import (
    HOST_COLUMN,
    KNOB_COLUMNS,
    NETWORKS_COLUMN,
    SEED_COLUMN,
    Analysis,
    Statistic,
    counts,
    numbers,
    texts,
)
from torsweep.stats.text import TextTable, variant_words

TOTAL = "total"
TIMED = (TOTAL, *STAGES)
CELL_QUANTILES = {"min_ms": 0.0, "q1_ms": 0.25, "median_ms": 0.5, "q3_ms": 0.75, "max_ms": 1.0}

ANY = "any"
SECTION = ("circuits", "direction", "command", "queue")
"""What tells cells apart: of which circuits, ``outward`` or ``inward``, ``relay`` or ``relay_early``, and
whether the queue of their circuit was ``empty`` or ``occupied`` when they came to it. ``any`` is all of
them."""

_GROUP = ("host", *SECTION, "stage")

SECONDS_PER_BIN = 1
BINS_PER_DECADE = 20
LEAST_DECADE, MOST_DECADE = -3, 4
"""Powers of ten of the bins' times in ms: a shorter or longer time counts in the first or last bin."""

_COLUMNS = (
    "host",
    "start_ns",
    "outward",
    "command",
    "circuit",
    "queue_cells",
    *(f"{stage}_ns" for stage in STAGES),
)


@dataclass(frozen=True)
class CellTimes:
    """Rows of cell_runs.csv and cell_spikes.csv, and the density of the first network, from one pass."""

    runs: pl.DataFrame
    density: pl.DataFrame | None
    spikes: list[dict[str, Any]]


def cell_times(analysis: Analysis) -> CellTimes:
    """The times of the cells of a plan, a run after the other."""
    tables, provenance = analysis.tables, analysis.provenance
    runs: list[dict[str, Any]] = []
    density, spikes = [], []
    for run in provenance.runs:
        keys = {"seed": run["seed"], **run["variant"]}
        for (host,), cells in tables.passages(keys, _COLUMNS).group_by("host", maintain_order=True):
            head = {**keys, "host": str(host)}
            runs += [head | row for row in _rows(cells)]
            spikes += [head | row for row in _spikes(cells)]
            if run["seed"] == provenance.seeds[0]:
                bins = _density(cells).with_columns(**{name: pl.lit(value) for name, value in head.items()})
                density.append(bins)
    frame = pl.DataFrame(runs, CELL_RUNS.schema(analysis.knobs))
    return CellTimes(frame, pl.concat(density) if density else None, spikes)


def _rows(cells: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """A row for each section of the cells of a relay and each measure."""
    values: dict[str, NDArray[np.float64]] = {TOTAL: _total(cells)}
    values |= {stage: cells[f"{stage}_ns"].to_numpy() / 1e6 for stage in STAGES}
    for section, chosen in _sections(cells):
        for measure in TIMED:
            of_section = values[measure][chosen]
            if not len(of_section):
                continue
            quantiles = np.quantile(of_section, list(CELL_QUANTILES.values()))
            yield {
                **dict(zip(SECTION, section, strict=True)),
                "stage": measure,
                "cell_count": len(of_section),
                "mean_ms": float(of_section.mean()),
                **dict(zip(CELL_QUANTILES, map(float, quantiles), strict=True)),
            }


def _spikes(cells: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One row for cells and one for seconds, where the longest times of a relay's cells have a period."""
    cells = cells.sort("start_ns", maintain_order=True)
    total = _total(cells)
    positions = {
        "cells": np.arange(len(cells), dtype=np.float64),
        "seconds": cells["start_ns"].to_numpy() / 1e9,
    }
    for name, position in positions.items():
        period = find_period(total, position)
        if period is not None:
            yield {
                "counted_in": name,
                "every": period.length,
                "share": period.share,
                "height_ms": period.height,
                "chance": period.chance,
                "spikes": period.spikes,
            }


def _total(cells: pl.DataFrame) -> NDArray[np.float64]:
    """The whole time of each cell in ms, summed in whole nanoseconds."""
    return cells.select(pl.sum_horizontal(f"{stage}_ns" for stage in STAGES)).to_series().to_numpy() / 1e6


def _sections(cells: pl.DataFrame) -> Iterator[tuple[tuple[str, str, str, str], NDArray[np.bool_]]]:
    outward, early = cells["outward"].to_numpy(), cells["command"].to_numpy() == 9
    occupied = cells["queue_cells"].to_numpy() > 0
    for name, circuits in _circuits(cells["circuit"].to_numpy()).items():
        yield (name, ANY, ANY, ANY), circuits
        for direction, one in (("outward", outward), ("inward", ~outward)):
            yield (name, direction, ANY, ANY), circuits & one
        for command, one in (("relay", ~early), ("relay_early", early)):
            yield (name, ANY, command, ANY), circuits & one
        for queue, one in (("empty", ~occupied), ("occupied", occupied)):
            yield (name, ANY, ANY, queue), circuits & one


def _circuits(circuit: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Which cells are of all circuits, of quiet, of busy ones, of the busiest."""
    _, index, cells = np.unique(circuit, return_inverse=True, return_counts=True)
    first, third = np.quantile(cells, [0.25, 0.75])
    return {
        "all": np.ones(len(circuit), np.bool_),
        "quiet": (cells <= first)[index],
        "busy": (cells >= third)[index],
        "busiest": index == cells.argmax(),
    }


def _density(cells: pl.DataFrame) -> pl.DataFrame:
    """How many cells there are for each second and each twentieth of a decade of the whole time."""
    second = cells["start_ns"].to_numpy() // (SECONDS_PER_BIN * 1_000_000_000) * SECONDS_PER_BIN
    total = np.maximum(_total(cells), 10.0**LEAST_DECADE)
    most = (MOST_DECADE - LEAST_DECADE) * BINS_PER_DECADE - 1
    place = np.floor((np.log10(total) - LEAST_DECADE) * BINS_PER_DECADE).astype(np.int64)
    bins = pl.DataFrame({"second": second, "place": np.minimum(place, most)})
    counted = bins.group_by("second", "place").len("cell_count").sort("second", "place")
    return counted.select(
        pl.col("second").cast(pl.Int64),
        (10.0 ** (LEAST_DECADE + pl.col("place") / BINS_PER_DECADE)).alias("least_ms"),
        pl.col("cell_count").cast(pl.Int64),
    )


def _over_networks(analysis: Analysis) -> pl.DataFrame:
    """Means over networks, with 95 % t-intervals of the median and of the mean, none below 0; null with one.

    Not of logarithms: where half of a network's cells pass at once, its median is 0.
    """
    by = [*analysis.knobs, *_GROUP]
    rows = []
    for key, runs in analysis.once(cell_times).runs.group_by(by, maintain_order=True):
        row = dict(zip(by, key, strict=True)) | {"networks": runs.height}
        row["cell_count"] = runs["cell_count"].cast(pl.Float64).mean()
        for name in ("mean_ms", *CELL_QUANTILES):
            interval = t_interval(runs[name].to_numpy())
            row[name] = interval.mean
            if name in ("median_ms", "mean_ms") and interval.known:
                row |= {f"{name}_low": max(interval.low, 0.0), f"{name}_high": interval.high}
        rows.append(row)
    return pl.DataFrame(rows, CELL_TIMES.schema(analysis.knobs))


def cell_counts(tables: PlanTables) -> pl.DataFrame:
    """A row for each run and relay: what became of its RELAY cells, and the load that the relay had.

    ``cpu_share`` is the mean share of one core; null where the engine models none.
    """
    provenance = tables.provenance
    rows = [
        {**run["variant"], "seed": run["seed"], "host": host, **outcomes}
        for run in provenance.runs
        for host, outcomes in run.get("cells", {}).items()
    ]
    by = [*provenance.knobs, "seed", "host"]
    schema = dict.fromkeys(by, pl.String) | {"seed": pl.Int64} | dict.fromkeys(CELL_OUTCOMES, pl.Int64)
    load = (
        tables.relays(("relay", "bytes_out", "cpu_us"))
        .with_columns(pl.col(list(provenance.knobs)).cast(pl.String))
        .rename({"relay": "host"})
        .group_by(by)
        .agg(
            (pl.col("bytes_out").mean() / 1e6).alias("sent_mb_per_s"),
            (pl.col("cpu_us").mean() / 1e6).alias("cpu_share"),
        )
    )
    return pl.DataFrame(rows, schema).join(load, on=by, how="left", maintain_order="left")


def _load(analysis: Analysis) -> pl.DataFrame:
    """A row a variant and relay, over networks: the mean of what it sent, the greatest share of a core."""
    by = [*analysis.knobs, "host"]
    return (
        cell_counts(analysis.tables)
        .group_by(by, maintain_order=True)
        .agg(pl.len().alias("networks"), pl.col("sent_mb_per_s").mean(), pl.col("cpu_share").max())
    )


def _in_summary(analysis: Analysis, times: pl.DataFrame) -> list[TextTable]:
    whole = times.filter(pl.col("stage") == TOTAL, *(pl.col(name) == ANY for name in SECTION[1:]))
    if whole.is_empty():
        return []
    columns = ("cell_count", "min_ms", "q1_ms", "median_ms", "q3_ms", "mean_ms", "max_ms")
    rows = [
        [row["host"], variant_words({knob: row[knob] for knob in analysis.knobs}), row["circuits"]]
        + [f"{row[name]:,.0f}" if name == "cell_count" else f"{row[name]:.3g}" for name in columns]
        for row in whole.iter_rows(named=True)
    ]
    title = "How long RELAY cells stay in a relay, milliseconds"
    header = ["relay", "variant", "circuits", "cells", "min", "first quartile", "median", "third quartile"]
    note = (
        "From the input buffer to the kernel; means over networks. Quiet: circuits with at most the "
        "first quartile of cells per circuit; busy: with at least the third. By stage: cell_times.csv."
    )
    return [TextTable(title, [*header, "mean", "max"], rows, [note])]


SECTIONS = texts("of which circuits, direction, command and state of the queue; any: all", *SECTION)
CELL_OUTCOMES = ("passages", "ended", "begun", "under_way", "lost", "overwritten", "torn")
LOAD = numbers("what the relay sent, MB/s", "sent_mb_per_s") | numbers(
    "share of a core that it took; null: the engine models none", "cpu_share"
)
STAGE = texts("relaying, waiting, writing, or total, which is their sum", "stage")
of_cells = partial(Statistic, rests_on="cells")
CELL_RUNS = of_cells(
    "cell_runs",
    "times of the cells of a traced relay in one run, by section and stage",
    KNOB_COLUMNS
    | SEED_COLUMN
    | HOST_COLUMN
    | SECTIONS
    | STAGE
    | counts("how many cells", "cell_count")
    | numbers("time in the relay, ms", "mean_ms", *CELL_QUANTILES),
    lambda analysis: analysis.once(cell_times).runs,
)
CELL_TIMES = of_cells(
    "cell_times",
    "times of the cells of a traced relay, by section and stage, over networks",
    KNOB_COLUMNS
    | HOST_COLUMN
    | SECTIONS
    | STAGE
    | NETWORKS_COLUMN
    | numbers("mean over networks, times in ms", "cell_count", *CELL_QUANTILES, "mean_ms")
    | numbers("95 % interval", "median_ms_low", "median_ms_high", "mean_ms_low", "mean_ms_high"),
    _over_networks,
    in_summary=_in_summary,
    rank=30,
)
CELL_DENSITY = of_cells(
    "cell_density",
    "a second of the first network and a twentieth of a decade of times",
    KNOB_COLUMNS
    | SEED_COLUMN
    | HOST_COLUMN
    | counts("seconds since the start", "second")
    | numbers("where the twentieth begins, ms", "least_ms")
    | counts("how many cells stayed so long", "cell_count"),
    lambda analysis: outcomes if (outcomes := analysis.once(cell_times).density) is not None else [],
)
CELL_SPIKES = of_cells(
    "cell_spikes",
    "a relay of a run whose longest times come back at a fixed distance",
    KNOB_COLUMNS
    | SEED_COLUMN
    | HOST_COLUMN
    | texts("cells or seconds", "counted_in")
    | numbers("the distance", "every")
    | numbers("share of the places at which there is a spike", "share")
    | numbers("median height of a spike above the median of all, ms", "height_ms")
    | numbers("probability that spikes without a period look as regular", "chance")
    | counts("how many spikes", "spikes"),
    lambda analysis: analysis.once(cell_times).spikes,
)
CELL_COUNTS = of_cells(
    "cell_counts",
    "what became of the RELAY cells of a traced relay in one run, and its load",
    KNOB_COLUMNS
    | SEED_COLUMN
    | HOST_COLUMN
    | counts("how many cells, by what became of them", *CELL_OUTCOMES)
    | LOAD,
    lambda analysis: cell_counts(analysis.tables),
)
CELL_LOAD = of_cells(
    "cell_load",
    "the load of a traced relay, over networks: the mean of what it sent, the greatest share of a core",
    KNOB_COLUMNS | HOST_COLUMN | NETWORKS_COLUMN | LOAD,
    _load,
)
