"""Import of client bandwidths measured by others.

In: Ookla Open Data tiles (CSV or Parquet). Out: a folder with ``bandwidth.json``, quantile tables for the
sampler. Each tile is a region with mean rates, which counts by its tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from torsweep.errors import InputError
from torsweep.formats.frames import read_csv, read_frame
from torsweep.network.clients import BANDWIDTH_FILE, ClientBandwidth, write_bandwidth
from torsweep.network.exact import Floats
from torsweep.provenance import sha256_of_file
from torsweep.ranges import MOST_RATE_BYTES_PER_S
from torsweep.storage import whole_directory
from torsweep.storage.folders import BANDWIDTHS_FOLDER

_PER_KBIT = 125.0
_PER_MBIT = 125_000.0
_FASTEST_BYTES_PER_S = float(MOST_RATE_BYTES_PER_S)
_MOST_TESTS = 1e12

_DOWN_POINTS = 101
_UP_POINTS = 21
_STRATA = 10


def _most(column: str) -> float:
    """The largest number that ``column`` of a CSV or Parquet file can hold: kbit/s, or a count of tests."""
    return _FASTEST_BYTES_PER_S / _PER_KBIT if column.endswith("kbps") else _MOST_TESTS


class Regions(NamedTuple):
    """Mean rates in bytes/s and weights, each (regions,)."""

    down: np.ndarray
    up: np.ndarray
    weight: np.ndarray


def import_bandwidth(file: Path, out: Path) -> list[str]:
    """Write ``out`` and return the lines to print. Raises InputError naming what is wrong where."""
    regions = _ookla_open(file)
    origin = {"file": file.name, "sha256": sha256_of_file(file)}
    with whole_directory(out, BANDWIDTHS_FOLDER) as temporary:
        write_bandwidth(table_of_regions(*regions, origin), temporary / BANDWIDTH_FILE)
    return [
        f"regions: {len(regions.down)}",
        *(f"{name} Mbit/s p10/p50/p90: {_three(rates, regions.weight)}" for name, rates in
          (("down", regions.down), ("up", regions.up))),
        f"written: {out / BANDWIDTH_FILE}",
    ]  # fmt: skip


def _three(rates: np.ndarray, weight: np.ndarray) -> str:
    order = np.argsort(rates)
    reached = np.cumsum(weight[order]) / weight.sum()
    levels = [min(int(np.searchsorted(reached, level)), len(rates) - 1) for level in (0.1, 0.5, 0.9)]
    return "/".join(f"{rates[order][index] / _PER_MBIT:.2f}" for index in levels)


def _regions(rows: Iterable[tuple[float, float, float]], file: Path) -> Regions:
    """The ``rows`` that have rates, bytes/s, and a weight."""
    table = np.array([row for row in rows if min(row) > 0], dtype=np.float64)
    if not len(table):
        raise InputError("no region with rates in it", file=file)
    regions = Regions(*table.T)
    fastest = max(regions.down.max(), regions.up.max())
    if fastest > _FASTEST_BYTES_PER_S:
        value, accepted = f"{fastest / _PER_MBIT:g} Mbit/s", "rates of at most 100 Gbit/s"
        raise InputError("no link is so fast", file=file, value=value, accepted=accepted)
    return regions


def _ookla_open(file: Path) -> Regions:
    """A line for each tile (``avg_d_kbps``, ``avg_u_kbps``, ``tests``), weighted by tests."""
    columns = ("avg_d_kbps", "avg_u_kbps", "tests")
    is_parquet = file.suffix == ".parquet"
    tiles = read_frame(file, columns).drop_nulls() if is_parquet else read_csv(file, None)
    down, up, tests = (pl.col(name) for name in columns)
    rates = _numbers(tiles, columns, file).select(down * _PER_KBIT, up * _PER_KBIT, tests)
    return _regions(rates.iter_rows(), file)


def _numbers(table: pl.DataFrame, numbers: Sequence[str], file: Path) -> pl.DataFrame:
    """``numbers`` of ``table``; InputError for a missing column and a number out of range."""
    if not set(numbers) <= set(table.columns):
        accepted = ", ".join(numbers)
        raise InputError("columns are missing", file=file, value=table.columns, accepted=accepted)
    for name in numbers:
        fits = table[name].cast(pl.Float64, strict=False).is_between(0, _most(name)).fill_null(False)
        if not fits.all():
            row = int((~fits).arg_max() or 0)
            key, value, accepted = f"row {row + 1}, {name}", table[name][row], f"0 to {_most(name):g}"
            raise InputError("is no number in range", file=file, key=key, value=value, accepted=accepted)
    return table.select(pl.col(name).cast(pl.Float64) for name in numbers)


def table_of_regions(down: Floats, up: Floats, weight: Floats, origin: dict[str, Any]) -> ClientBandwidth:
    """The table of regions with mean rates ``down`` and ``up`` (bytes/s), all arguments (regions,).

    Regions are ranked by download rate; upload quantiles are those of the regions (or the parts of
    them) in each tenth of the weight, so that fast downloads keep their fast uploads.
    """
    order = np.argsort(down, kind="stable")
    down, up, weight = down[order], up[order], weight[order] / weight.sum()
    above = np.cumsum(weight)
    below = above - weight
    strata = []
    for tenth in range(_STRATA):
        low, high = tenth / _STRATA, (tenth + 1) / _STRATA
        inside = np.clip(np.minimum(above, high) - np.maximum(below, low), 0, None)
        strata.append(_weighted_quantiles(up, inside, _UP_POINTS))
    return ClientBandwidth(_weighted_quantiles(down, weight, _DOWN_POINTS), np.stack(strata), origin)


def _weighted_quantiles(values: Floats, weight: Floats, points: int) -> Floats:
    """Quantiles at equally spaced probabilities, linear between the middles of the values' weights."""
    counted = weight > 0
    order = np.argsort(values[counted], kind="stable")
    ranked, share = values[counted][order], weight[counted][order]
    middle = (np.cumsum(share) - share / 2) / share.sum()
    return np.interp(np.linspace(0, 1, points), middle, ranked)
