"""How long RELAY cells stay in a traced relay, and in which stage.

In: the passages of a plan (:mod:`torsweep.tables.passages`). Out: :class:`CellTimes`: frames for
cell_runs.csv, cell_times.csv, cell_density.csv, cell_spikes.csv, cell_counts.csv and cell_load.csv. Without
rows where no cells were traced.

Circuits are *quiet* with no more cells than the first quartile of cells per circuit of the run, and *busy*
from the third quartile on, as in the report of 2019; *busiest* is the one with the most cells. A cell's
stages are ``relaying`` (input buffer to circuit queue), ``waiting`` (in the queue) and ``writing`` (output
buffer to kernel); ``total`` is their sum. Times are exact to the clock, quantiles those of the cells
themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from torsweep.config.tracing import STAGES
from torsweep.stats.intervals import t_interval
from torsweep.stats.spikes import find_period
from torsweep.tables.reading import PlanTables, Provenance

TOTAL = "total"
MEASURES = (TOTAL, *STAGES)
QUANTILES = {"min_ms": 0.0, "q1_ms": 0.25, "median_ms": 0.5, "q3_ms": 0.75, "max_ms": 1.0}

ANY = "any"
SECTION = ("circuits", "direction", "command", "queue")
"""What tells cells apart: of which circuits, ``outward`` or ``inward``, ``relay`` or ``relay_early``, and
whether the queue of their circuit was ``empty`` or ``occupied`` when they came to it. ``any`` is all of
them."""

TEXTS = ("host", *SECTION, "stage")
"""Columns of text, beside the knobs."""

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
    """The frames that the module's docstring names.

    ``density`` is of the first network alone; ``spikes`` has a row for each relay and run whose longest times
    come back, every so many cells or seconds; ``load`` has the relays' load in ``counts``, over networks.
    """

    runs: pl.DataFrame
    times: pl.DataFrame
    density: pl.DataFrame
    spikes: pl.DataFrame
    counts: pl.DataFrame
    load: pl.DataFrame


def cell_times(tables: PlanTables) -> CellTimes:
    """The times of the cells of ``tables``, a run after the other."""
    provenance = tables.provenance
    runs, density, spikes = [], [], []
    for run in provenance.runs if any(run.get("cells") for run in provenance.runs) else ():
        keys = {"seed": run["seed"], **run["variant"]}
        for (host,), own in tables.passages(keys, _COLUMNS).group_by("host", maintain_order=True):
            head = {**keys, "host": str(host)}
            runs += [head | row for row in _rows(own)]
            spikes += [head | row for row in _spikes(own)]
            if run["seed"] == provenance.seeds[0]:
                found = _density(own).with_columns(**{name: pl.lit(value) for name, value in head.items()})
                density.append(found.select(*provenance.knobs, *_DENSITY_COLUMNS).cast({"seed": pl.Int64}))
    of_runs, counts = _frame(runs, _RUN_COLUMNS, provenance), _counts(tables)
    return CellTimes(
        runs=of_runs,
        times=_over_networks(of_runs, provenance),
        density=pl.concat(density) if density else _frame([], _DENSITY_COLUMNS, provenance),
        spikes=_frame(spikes, _SPIKE_COLUMNS, provenance),
        counts=counts,
        load=_load(counts, provenance),
    )


_RUN_COLUMNS = {
    "seed": pl.Int64,
    **dict.fromkeys(TEXTS, pl.String),
    "cell_count": pl.Int64,
    **dict.fromkeys(("mean_ms", *QUANTILES), pl.Float64),
}
_SPIKE_COLUMNS = {
    "seed": pl.Int64,
    "host": pl.String,
    "counted_in": pl.String,
    **dict.fromkeys(("every", "share", "height_ms", "chance"), pl.Float64),
    "spikes": pl.Int64,
}
_DENSITY_COLUMNS = {
    "seed": pl.Int64,
    "host": pl.String,
    "second": pl.Int64,
    "least_ms": pl.Float64,
    "cell_count": pl.Int64,
}


def _frame(rows: list[dict[str, Any]], columns: Mapping[str, Any], provenance: Provenance) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**dict.fromkeys(provenance.knobs, pl.String), **columns})


def _rows(own: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """A row for each section of the cells of a relay and each measure."""
    values: dict[str, NDArray[np.float64]] = {TOTAL: _total(own)}
    values |= {stage: own[f"{stage}_ns"].to_numpy() / 1e6 for stage in STAGES}
    for section, chosen in _sections(own):
        for measure in MEASURES:
            of_section = values[measure][chosen]
            if not len(of_section):
                continue
            found = np.quantile(of_section, list(QUANTILES.values()))
            yield {
                **dict(zip(SECTION, section, strict=True)),
                "stage": measure,
                "cell_count": len(of_section),
                "mean_ms": float(of_section.mean()),
                **dict(zip(QUANTILES, map(float, found), strict=True)),
            }


def _spikes(own: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One row for cells and one for seconds, where the longest times of a relay's cells have a period."""
    own = own.sort("start_ns", maintain_order=True)
    total = _total(own)
    positions = {"cells": np.arange(len(own), dtype=np.float64), "seconds": own["start_ns"].to_numpy() / 1e9}
    for name, position in positions.items():
        found = find_period(total, position)
        if found is not None:
            yield {
                "counted_in": name,
                "every": found.length,
                "share": found.share,
                "height_ms": found.height,
                "chance": found.chance,
                "spikes": found.spikes,
            }


def _total(own: pl.DataFrame) -> NDArray[np.float64]:
    """The whole time of each cell in ms, summed in whole nanoseconds."""
    return own.select(pl.sum_horizontal(f"{stage}_ns" for stage in STAGES)).to_series().to_numpy() / 1e6


def _sections(own: pl.DataFrame) -> Iterator[tuple[tuple[str, str, str, str], NDArray[np.bool_]]]:
    outward, early = own["outward"].to_numpy(), own["command"].to_numpy() == 9
    occupied = own["queue_cells"].to_numpy() > 0
    for name, circuits in _circuits(own["circuit"].to_numpy()).items():
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


def _density(own: pl.DataFrame) -> pl.DataFrame:
    """How many cells there are for each second and each twentieth of a decade of the whole time."""
    second = own["start_ns"].to_numpy() // (SECONDS_PER_BIN * 1_000_000_000) * SECONDS_PER_BIN
    total = np.maximum(_total(own), 10.0**LEAST_DECADE)
    most = (MOST_DECADE - LEAST_DECADE) * BINS_PER_DECADE - 1
    place = np.floor((np.log10(total) - LEAST_DECADE) * BINS_PER_DECADE).astype(np.int64)
    bins = pl.DataFrame({"second": second, "place": np.minimum(place, most)})
    counted = bins.group_by("second", "place").len("cell_count").sort("second", "place")
    return counted.select(
        pl.col("second").cast(pl.Int64),
        (10.0 ** (LEAST_DECADE + pl.col("place") / BINS_PER_DECADE)).alias("least_ms"),
        pl.col("cell_count").cast(pl.Int64),
    )


def _over_networks(runs: pl.DataFrame, provenance: Provenance) -> pl.DataFrame:
    """Means over networks, with 95 % t-intervals of the median and of the mean; null with one network."""
    by = [*provenance.knobs, *TEXTS]
    numbers = ("cell_count", *QUANTILES, "mean_ms")
    means = runs.group_by(by, maintain_order=True).agg(
        pl.len().alias("networks"), pl.col(*numbers).cast(pl.Float64).mean()
    )
    spreads = [
        {
            name + part: bound
            for name in ("median_ms", "mean_ms")
            for part, bound in zip(("_low", "_high"), _bounds(rows[name]), strict=True)
        }
        for _, rows in runs.group_by(by, maintain_order=True)
    ]
    names = [name + part for name in ("median_ms", "mean_ms") for part in ("_low", "_high")]
    return means.hstack(pl.DataFrame(spreads, schema=dict.fromkeys(names, pl.Float64)))


def _bounds(values: pl.Series) -> Sequence[float | None]:
    interval = t_interval(values.to_numpy())
    return (interval.low, interval.high) if interval.known else (None, None)


def _counts(tables: PlanTables) -> pl.DataFrame:
    """A row for each run and relay: what became of its RELAY cells, and the load that the relay had.

    ``cpu_share`` is the mean share of one core; null where the engine models none.
    """
    provenance = tables.provenance
    rows = [
        {**run["variant"], "seed": run["seed"], "host": host, **counts}
        for run in provenance.runs
        for host, counts in run.get("cells", {}).items()
    ]
    kinds = ("passages", "ended", "begun", "under_way", "lost", "overwritten", "torn")
    counts = _frame(rows, {"seed": pl.Int64, "host": pl.String, **dict.fromkeys(kinds, pl.Int64)}, provenance)
    by = [*provenance.knobs, "seed", "relay"]
    load = (
        tables.relays(("relay", "bytes_out", "cpu_us"))
        .with_columns(pl.col(list(provenance.knobs)).cast(pl.String))
        .group_by(by)
        .agg(
            (pl.col("bytes_out").mean() / 1e6).alias("sent_mb_per_s"),
            (pl.col("cpu_us").mean() / 1e6).alias("cpu_share"),
        )
        .rename({"relay": "host"})
    )
    return counts.join(load, on=[*provenance.knobs, "seed", "host"], how="left", maintain_order="left")


def _load(counts: pl.DataFrame, provenance: Provenance) -> pl.DataFrame:
    """A row a variant and relay, over networks: the mean of what it sent, the greatest share of a core."""
    return counts.group_by([*provenance.knobs, "host"], maintain_order=True).agg(
        pl.len().alias("networks"), pl.col("sent_mb_per_s").mean(), pl.col("cpu_share").max()
    )
