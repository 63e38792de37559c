"""Import of measured latencies: matrices of RTTs, such as King's.

In: a file with a row of numbers per host, separated by blanks, tabs or commas, and their unit; 0 or an empty
cell off the diagonal means not measured. Out: a folder with ``latency.npz``, that holds the matrix, and
``import.json`` with where it came from and its statistics, to look at before trusting it. Where nothing was
measured, the matrix has the shortest way over a third host. InputError for a file that holds no such matrix,
and for one that no network could be made from.

Matrices are (hosts, hosts) in microseconds, NaN where nothing was measured and on the diagonal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.formats.files import text_lines
from torsweep.network.exact import Floats
from torsweep.network.latency import MODEL_FILE, write_measured
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import LATENCIES_FOLDER
from torsweep.units import MOST_PLACES, MOST_RTT_US

IMPORT_FILE = "import.json"

MICROSECONDS_PER = {"us": 1.0, "ms": 1000.0, "s": 1_000_000.0}

_LEAST_PAIRS = 0.1
"""The share of the pairs of hosts that has to have been measured."""

LEAST_MEDIAN_US = 1_000.0
MOST_MEDIAN_US = 5_000_000.0
"""Medians of RTTs between hosts of the Internet lie between; outside, the unit is another one."""


def import_latency(file: Path, unit: str, out: Path, *, one_way: bool = False) -> list[str]:
    """Write ``out`` and return the lines to print; InputError for a matrix not fit for use. With ``one_way``
    the file's numbers are delays of one direction and are doubled."""
    rtt_us = read_latencies(file, unit, one_way=one_way)
    found = check_matrix(rtt_us, file)
    source = {"file": file.name, "sha256": sha256_of_file(file), "unit": unit, "one_way": one_way}
    statistics = {
        "hosts": found.hosts,
        "median_rtt_ms": round(found.median_rtt_us / 1000, 3),
        "asymmetry_median": round(found.asymmetry, 4),
        "missing": round(found.missing, 4),
    }
    with whole_directory(out, LATENCIES_FOLDER) as temporary:
        write_measured(_complete(rtt_us), temporary / MODEL_FILE)
        text = json.dumps({"source": source, "statistics": statistics}, indent=1)
        (temporary / IMPORT_FILE).write_text(text + "\n", encoding="utf-8")
    return [
        f"hosts: {found.hosts}",
        f"median RTT: {found.median_rtt_us / 1000:.1f} ms",
        f"asymmetry: {100 * found.asymmetry:.1f} % (median difference of the two directions)",
        f"missing: {100 * found.missing:.2f} % of the pairs",
        f"written: {out / MODEL_FILE}",
    ]


def read_latencies(path: Path, unit: str, *, one_way: bool = False) -> Floats:
    """The matrix in ``path``. Raises InputError saying what is wrong."""
    if unit not in MICROSECONDS_PER:
        raise InputError("no such unit", key="--unit", value=unit, accepted=", ".join(MICROSECONDS_PER))
    accepted = (
        "one row of RTTs per host, 0 or an empty cell where nothing was measured, as many rows as columns"
    )
    us_per_number = MICROSECONDS_PER[unit] * (2 if one_way else 1)
    rows: list[Floats] = []
    for line, text in enumerate(text_lines(path), 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        cells = _cells(text)
        if max(len(cells), len(rows)) > MOST_PLACES:
            raise InputError("too many hosts", file=path, accepted=f"at most {MOST_PLACES}")
        if rows and len(cells) != len(rows[0]):
            problem, value = "is cut off or too long", f"{len(cells)} cells, {len(rows[0])} in the first row"
            raise InputError(problem, file=path, key=f"line {line}", value=value, accepted=accepted)
        numbers = _numbers(cells, MOST_RTT_US / us_per_number, unit, path, line)
        rows.append(numbers * us_per_number)
    if not rows:
        raise InputError("is empty", file=path, accepted=accepted)
    matrix = np.stack(rows)
    hosts, columns = matrix.shape
    if columns == hosts + 1 and np.isnan(matrix[:, -1]).all():
        matrix, columns = matrix[:, :-1], hosts  # a separator ends each row
    if columns != hosts:
        counts = matrix[:, 0] / us_per_number - np.arange(hosts)
        hint = "; the first column counts the rows: leave it out" if len({*counts.tolist()}) == 1 else ""
        value = f"{hosts} rows of {columns} cells"
        raise InputError("not square", file=path, value=value, accepted=accepted + hint)
    matrix[matrix == 0] = np.nan
    np.fill_diagonal(matrix, np.nan)
    return matrix


def _cells(line: str) -> list[str]:
    """The cells of a row, which commas separate, or else tabs, or else blanks."""
    separator = next((each for each in (",", "\t") if each in line), None)
    return [cell.strip() for cell in line.split(separator)]


def _numbers(cells: Sequence[str], most: float, unit: str, path: Path, line: int) -> Floats:
    """The numbers in the ``cells`` of a row, NaN for an empty one; InputError for what is no RTT."""
    numbers = np.array([_number(cell) for cell in cells])
    wrong = (numbers < 0) | (numbers > most)
    if wrong.any():
        column = int(wrong.argmax())
        key = f"line {line}, column {column + 1}"
        accepted = f"0 to {most:g} {unit}; is the unit right?"
        if ";" in cells[column]:
            accepted = "commas or tabs between cells, points in numbers"
        raise InputError("is no RTT", file=path, key=key, value=cells[column], accepted=accepted)
    return numbers


def _number(cell: str) -> float:
    """The number in ``cell``; NaN for an empty one, -1 for what is no number."""
    try:
        number = float(cell or "nan")
    except ValueError:
        return -1.0
    return -1.0 if cell and math.isnan(number) else number


@dataclass(frozen=True)
class MatrixSummary:
    """Statistics of a matrix of RTTs; fractions in 0..1, asymmetry as the median of |a−b| / mean."""

    hosts: int
    median_rtt_us: float
    asymmetry: float
    missing: float


def summarise(rtt_us: Floats) -> MatrixSummary:
    """Statistics of ``rtt_us`` (hosts, hosts), whose diagonal is not looked at."""
    hosts = len(rtt_us)
    first, second = np.triu_indices(hosts, 1)
    forth, back = rtt_us[first, second], rtt_us[second, first]
    both = np.isfinite(forth) & np.isfinite(back)
    apart = np.abs(forth[both] - back[both]) / np.maximum((forth[both] + back[both]) / 2, 1e-9)
    values = np.concatenate([forth, back])
    known = np.isfinite(values)
    return MatrixSummary(
        hosts=hosts,
        median_rtt_us=float(np.median(values[known])) if known.any() else float("nan"),
        asymmetry=float(np.median(apart)) if len(apart) else 0.0,
        missing=float(1 - known.mean()) if len(values) else 0.0,
    )


def check_matrix(rtt_us: Floats, file: Path) -> MatrixSummary:
    """The summary of a matrix fit to make networks from; InputError when it is mostly empty, all the same,
    has a host without an RTT, or is in another unit than stated."""
    summary = summarise(rtt_us)
    if not summary.missing < 1 - _LEAST_PAIRS:
        value, accepted = f"{100 * (1 - summary.missing):.1f} %", f"{_LEAST_PAIRS:.0%} of the pairs or more"
        raise InputError("hardly any pair of hosts was measured", file=file, value=value, accepted=accepted)
    alone = np.flatnonzero(~(np.isfinite(rtt_us) | np.isfinite(rtt_us.T)).any(axis=1))
    if len(alone):
        value, accepted = f"host {alone[0] + 1}", "an RTT to one other host or more; leave the others out"
        raise InputError("a host has no RTT to any other", file=file, value=value, accepted=accepted)
    if not LEAST_MEDIAN_US <= summary.median_rtt_us <= MOST_MEDIAN_US:
        problem = "the median RTT is not one of the Internet's: is the unit right?"
        accepted = f"{LEAST_MEDIAN_US / 1000:g} to {MOST_MEDIAN_US / 1000:g} ms; see --unit"
        value = f"{summary.median_rtt_us / 1000:g} ms"
        raise InputError(problem, file=file, value=value, accepted=accepted)
    known = rtt_us[np.isfinite(rtt_us)]
    if (known == known[0]).all():
        raise InputError("every RTT is the same", file=file, value=f"{known[0] / 1000:g} ms")
    return summary


def _complete(rtt_us: Floats) -> NDArray[np.int32]:
    """The matrix with the mean of both directions, or the one that was measured, in whole microseconds, at
    least one; 0 on the diagonal.

    A gap is filled with the shortest way over a third host, or with the median where there is none.
    """
    mean = (rtt_us + rtt_us.T) / 2
    either = np.where(np.isfinite(rtt_us), rtt_us, rtt_us.T)
    known = np.nan_to_num(np.where(np.isfinite(mean), mean, either), nan=np.inf)
    filled = known.copy()
    for host, row in enumerate(known):
        gaps = np.flatnonzero(np.isinf(row))
        filled[host, gaps] = (row[:, None] + known[:, gaps]).min(axis=0)
    filled[np.isinf(filled)] = np.median(known[np.isfinite(known)])
    whole_us = np.maximum(np.rint(filled), 1).astype(np.int32)
    np.fill_diagonal(whole_us, 0)
    return whole_us
