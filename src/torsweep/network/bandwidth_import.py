"""Import of client bandwidths measured by others.

In: a Net Index CSV, a Speedtest JSON, Ookla Open Data tiles (CSV or Parquet), or tornettools'
``networkinfo_staging.gml``. Out: a folder with ``bandwidth.json``, quantile tables for the sampler.

Each format gives regions with mean rates and how much each counts: Net Index the tests of a country
over the days in the file, Speedtest every country alike, tiles their tests, GML every vertex alike.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars

from torsweep.errors import InputError
from torsweep.network.bandwidth_fit import table_of_regions
from torsweep.network.clients import BANDWIDTH_FILE, write_bandwidth
from torsweep.network.derived import file_sha256
from torsweep.network.destination import replaced_directory
from torsweep.network.text_files import text_lines, whole_text

FORMATS = ("netindex", "speedtest", "ookla-open", "networkinfo")

_PER_KBIT = 125.0
_PER_MBIT = 125_000.0
_PER_KIBIT = 128.0
_FASTEST_BYTES_PER_S = 12.5e9
"""100 Gbit/s: a mean above it is in another unit."""


class Regions(NamedTuple):
    """Mean rates in bytes/s and weights, each (regions,)."""

    down: np.ndarray
    up: np.ndarray
    weight: np.ndarray


def import_bandwidth(file: Path, file_format: str, out: Path, year: int | None = None) -> list[str]:
    """Write ``out`` and return the lines to print. Raises InputError naming what is wrong where.

    With ``year``, days of another year in a Net Index file do not count.
    """
    readers: dict[str, Callable[[Path], Regions]] = {
        "netindex": lambda path: _net_index(path, year),
        "speedtest": _speedtest,
        "ookla-open": _ookla_open,
        "networkinfo": _networkinfo,
    }
    if file_format not in readers:
        raise InputError("no such format", key="--format", value=file_format, accepted=", ".join(FORMATS))
    regions = _checked(readers[file_format](file), file)
    origin = {"file": file.name, "sha256": file_sha256(file), "format": file_format, "year": year}
    with replaced_directory(out, BANDWIDTH_FILE) as temporary:
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


def _checked(regions: Regions, file: Path) -> Regions:
    for name, rates in (("download", regions.down), ("upload", regions.up)):
        wrong = ~np.isfinite(rates) | (rates <= 0) | (rates > _FASTEST_BYTES_PER_S)
        if wrong.any():
            row = int(np.argmax(wrong))
            accepted = "above 0 and at most 100 Gbit/s"
            value = f"{rates[row] / _PER_MBIT:g} Mbit/s"
            raise InputError(
                f"no {name} rate", file=file, key=f"region {row + 1}", value=value, accepted=accepted
            )
    if not np.isfinite(regions.weight).all() or (regions.weight < 0).any() or regions.weight.sum() <= 0:
        raise InputError("tests are not counts", file=file, accepted="0 or more, not all 0")
    return regions


def _regions(rows: Iterable[tuple[float, float, float]], file: Path) -> Regions:
    table = np.array(list(rows), dtype=np.float64)
    if not len(table):
        raise InputError("no region in it", file=file)
    return Regions(*table.T)


def _net_index(file: Path, year: int | None) -> Regions:
    """``country_daily_speeds``: a line a country and day, kbit/s."""
    totals: dict[str, np.ndarray] = {}
    columns = ("country_code", "date", "download_kbps", "upload_kbps", "total_tests")
    for line, row in _csv_rows(file, columns):
        down, up, tests = (_number(row[name], file, line, name) for name in columns[2:])
        if year is not None and not row["date"].startswith(f"{year}-"):
            continue
        own = totals.setdefault(row["country_code"], np.zeros(3))
        own += (down * tests, up * tests, tests)
    counted = [own for own in totals.values() if own[2] > 0]
    return _regions(
        [(down / tests * _PER_KBIT, up / tests * _PER_KBIT, tests) for down, up, tests in counted], file
    )


def _csv_rows(file: Path, columns: Iterable[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """Lines by column name; InputError when the file is empty, or a column or a cell is missing."""
    reader = csv.DictReader(text_lines(file), skipinitialspace=True)
    names = [name.strip() for name in reader.fieldnames or []]
    if not names:
        raise InputError("is empty", file=file, accepted=f"a CSV with {', '.join(columns)}")
    reader.fieldnames = names
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError("columns are missing", file=file, value=names, accepted=f"also {', '.join(missing)}")
    for row in reader:
        if any(row[name] is None for name in columns):
            raise InputError("a line is cut off", file=file, key=f"line {reader.line_num}")
        yield reader.line_num, row


def _number(text: str, file: Path, line: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value) or value < 0:
        raise InputError(
            "not a number of 0 or more",
            file=file,
            key=f"line {line}, {column}",
            value=text,
            accepted="a number",
        )
    return value


def _speedtest(file: Path) -> Regions:
    """``{"countries": {CODE: {"down_mbits": …, "up_mbits": …}}}``."""
    try:
        countries = json.loads(whole_text(file))["countries"]
        rates = [(float(each["down_mbits"]), float(each["up_mbits"])) for each in countries.values()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        accepted = '{"countries": {"XX": {"down_mbits": 26.8, "up_mbits": 12.8}, …}}'
        problem = f"is not a Speedtest table ({type(error).__name__}: {error})"
        raise InputError(problem, file=file, accepted=accepted) from None
    return _regions(
        [(down * _PER_MBIT, up * _PER_MBIT, 1.0) for down, up in rates if min(down, up) > 0], file
    )


def _ookla_open(file: Path) -> Regions:
    """A line a tile (``avg_d_kbps``, ``avg_u_kbps``, ``tests``), weighted by tests."""
    columns = ("avg_d_kbps", "avg_u_kbps", "tests")
    if file.suffix == ".parquet":
        return _ookla_parquet(file, columns)
    rows = [
        [_number(row[name], file, line, name) for name in columns] for line, row in _csv_rows(file, columns)
    ]
    return _regions(
        [(down * _PER_KBIT, up * _PER_KBIT, tests) for down, up, tests in rows if down and up], file
    )


def _ookla_parquet(file: Path, columns: tuple[str, ...]) -> Regions:
    if not file.is_file():
        raise InputError("no such file", file=file)
    try:
        found = polars.read_parquet_schema(file)
        missing = [name for name in columns if name not in found]
        if missing:
            raise InputError(
                "columns are missing", file=file, value=list(found), accepted=f"also {', '.join(missing)}"
            )
        tiles = polars.read_parquet(file, columns=list(columns)).cast(polars.Float64)
    except polars.exceptions.PolarsError as error:
        raise InputError(
            f"is not a Parquet file of numbers ({str(error).splitlines()[0]})", file=file
        ) from None
    used = tiles.drop_nulls().filter((polars.col("avg_d_kbps") > 0) & (polars.col("avg_u_kbps") > 0))
    down, up, tests = (used[name].to_numpy() for name in columns)
    if not len(down):
        raise InputError("no tile in it", file=file)
    return Regions(down * _PER_KBIT, up * _PER_KBIT, tests)


def _networkinfo(file: Path) -> Regions:
    """``bandwidth_down "31208 Kibit"`` and ``bandwidth_up`` of each vertex."""
    found: dict[str, list[float]] = {"down": [], "up": []}
    pattern = re.compile(r'\s*bandwidth_(down|up)\s+"(\d+(?:\.\d+)?) Kibit"\s*$')
    for line in text_lines(file):
        match = pattern.match(line)
        if match:
            found[match[1]].append(float(match[2]) * _PER_KIBIT)
    if not found["down"] or len(found["down"]) != len(found["up"]):
        value: Any = f"{len(found['down'])} and {len(found['up'])}"
        accepted = "a bandwidth_down and a bandwidth_up in Kibit for each node"
        raise InputError("rates are missing", file=file, value=value, accepted=accepted)
    return _regions([(down, up, 1.0) for down, up in zip(found["down"], found["up"], strict=True)], file)
