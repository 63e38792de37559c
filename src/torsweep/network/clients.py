"""Access links of clients.

In: a table of client bandwidths (:class:`ClientBandwidth`), a seed. Out: down and up rates of any
number of clients; the first n of a larger network are those of a smaller one. Tables are made from Ookla Open
Data tiles (CSV or Parquet): each is a region with mean rates, which counts by its tests.

*Between regions* a table has quantiles of the mean download rate, weighted by users, and for each tenth of
them those of the mean upload rate. *Within a region*, households differ log-normally around its mean, with
``spread_sigma`` (of the logarithm) and ``spread_correlation`` between the two directions: an assumption, as
the table says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.files import read_document
from torsweep.formats.frames import read_csv, read_frame
from torsweep.network.exact import Floats, conditional_quantile, lognormal_table, quantile, whole
from torsweep.provenance import sha256_of_file
from torsweep.seeds import stream
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import BANDWIDTHS_FOLDER
from torsweep.units import MOST_RATE_BYTES_PER_S

BANDWIDTH_FILE = "bandwidth.json"
BANDWIDTH_FORMAT = "torsweep-client-bandwidth"

LEAST_CLIENT_BYTES_PER_S = 8_000
"""64 kbit/s, an ISDN channel: below it the log-normal spread would invent links nobody sold."""

_MOST_POINTS = 100_000
_DEFAULT_SIGMA = 0.6
_DEFAULT_CORRELATION = 0.8


@dataclass(frozen=True)
class ClientBandwidth:
    """Rates in bytes/s: ``down`` quantiles (points,), ``up_given_down`` (strata of down, points)."""

    down: Floats
    up_given_down: Floats
    origin: dict[str, Any]
    spread_sigma: float = _DEFAULT_SIGMA
    spread_correlation: float = _DEFAULT_CORRELATION


def sample_client_rates(
    table: ClientBandwidth, count: int, seed: int, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Down and up rates, each (count,) in bytes/s, of the clients of ``kind``."""
    draws = stream(seed, "clients", kind, "bandwidth").random((count, 4))
    stratum = np.floor(draws[:, 0] * len(table.up_given_down)).astype(np.int64)
    down = quantile(table.down, draws[:, 0])
    up = conditional_quantile(table.up_given_down, stratum, draws[:, 1])
    down_factor, up_factor = _spread(table, draws[:, 2], draws[:, 3])
    return _rate(down * down_factor), _rate(up * up_factor)


def _rate(bytes_per_s: Floats) -> NDArray[np.int64]:
    return np.maximum(whole(bytes_per_s), LEAST_CLIENT_BYTES_PER_S)


def _spread(table: ClientBandwidth, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Log-normal factors of mean 1 for down and up.

    exp(σ(ρa + √(1−ρ²)b)) of two normal draws a, b is a product of two log-normal draws, so that the
    factor for up needs no exponential of its own.
    """
    sigma, correlation = table.spread_sigma, table.spread_correlation
    mean_one = math.exp(-(sigma**2) / 2)
    down = quantile(lognormal_table(mean_one, sigma), first)
    shared = quantile(lognormal_table(mean_one, sigma * correlation), first)
    rest = quantile(lognormal_table(1.0, sigma * math.sqrt(1 - correlation**2)), second)
    return down, np.multiply(shared, rest)


def write_bandwidth(table: ClientBandwidth, path: Path) -> None:
    """Write ``table`` to ``path``; rates are rounded to bytes per second."""
    document = {
        "format": BANDWIDTH_FORMAT,
        "format_version": 1,
        "origin": table.origin,
        "spread_sigma": table.spread_sigma,
        "spread_correlation": table.spread_correlation,
        "down_bytes_per_s": [int(rate) for rate in whole(table.down)],
        "up_bytes_per_s_given_down": [[int(rate) for rate in whole(row)] for row in table.up_given_down],
    }
    lines = [
        f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in document.items()
    ]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _ascending(rates: list[float]) -> list[float]:
    if sorted(rates) != rates:
        raise ValueError("expected quantiles: rates in ascending order")
    return rates


_Quantiles = Annotated[
    list[Annotated[float, Field(strict=True, ge=1, le=MOST_RATE_BYTES_PER_S)]],
    Field(min_length=2, max_length=_MOST_POINTS),
    AfterValidator(_ascending),
]


class _BandwidthTable(BaseModel):
    """The table that :func:`write_bandwidth` writes."""

    down_bytes_per_s: _Quantiles
    up_bytes_per_s_given_down: Annotated[list[_Quantiles], Field(min_length=1, max_length=_MOST_POINTS)]
    spread_sigma: Annotated[float, Field(strict=True, ge=0, le=3)] = _DEFAULT_SIGMA
    spread_correlation: Annotated[float, Field(strict=True, ge=0, le=1)] = _DEFAULT_CORRELATION
    origin: dict[str, Any] = {}


def read_bandwidth(path: Path) -> ClientBandwidth:
    """The table in ``path``, or that of a CSV file of clients: ``down_mbit_per_s``, ``up_mbit_per_s``.
    InputError when rates are missing, not positive or not ascending."""
    if path.suffix == ".csv":
        clients = _numbers(read_csv(path, None), _OF_CLIENTS, path) * _PER_MBIT
        rows = ((down, up, 1.0) for down, up in clients.iter_rows())
        return replace(table_of_regions(*_regions(rows, path), {"file": path.name}), spread_sigma=0.0)
    table = validate(_BandwidthTable, read_document(path, BANDWIDTH_FORMAT), path)
    down, up = table.down_bytes_per_s, table.up_bytes_per_s_given_down
    if len({len(row) for row in up}) > 1:
        key, accepted = "up_bytes_per_s_given_down", "as many in each row"
        raise InputError("is not a table of numbers", file=path, key=key, accepted=accepted)
    return ClientBandwidth(
        np.array(down), np.array(up), table.origin, table.spread_sigma, table.spread_correlation
    )


_PER_KBIT = 125.0
_PER_MBIT = 125_000.0
_OF_CLIENTS = ("down_mbit_per_s", "up_mbit_per_s")
_MOST_TESTS = 1e12

_DOWN_POINTS = 101
_UP_POINTS = 21
_STRATA = 10


def _most(column: str) -> float:
    """The largest number that ``column`` of a CSV or Parquet file can hold: a rate, or a count of tests."""
    if column in _OF_CLIENTS:
        return MOST_RATE_BYTES_PER_S / _PER_MBIT
    return MOST_RATE_BYTES_PER_S / _PER_KBIT if column.endswith("kbps") else _MOST_TESTS


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
    return Regions(*table.T)


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
        if not (table[name].dtype.is_numeric() or table[name].dtype == pl.String):
            value = str(table[name].dtype)
            raise InputError("is no column of numbers", file=file, key=name, value=value)
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
