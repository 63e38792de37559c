"""Measured latencies: matrices of RTTs, such as King's, and whether they are fit for use.

In: a file and the unit of its numbers. Out: a matrix of RTTs, (hosts, hosts) in microseconds, NaN
where nothing was measured and on the diagonal; its statistics, to look at before trusting it; InputError for
a file that holds no such matrix, and for one that no network could be made from.

The file has one row of numbers per host, separated by blanks, tabs or commas; 0 or an empty cell off the
diagonal means not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torsweep.errors import InputError
from torsweep.formats.files import text_lines
from torsweep.network.exact import Floats
from torsweep.units import MOST_PLACES, MOST_RTT_US

MICROSECONDS_PER = {"us": 1.0, "ms": 1000.0, "s": 1_000_000.0}

_LEAST_PAIRS = 0.1
"""The share of the pairs of hosts that has to have been measured."""

LEAST_MEDIAN_US = 1_000.0
MOST_MEDIAN_US = 5_000_000.0
"""Medians of RTTs between hosts of the Internet lie between; outside, the unit is another one."""


def read_latencies(path: Path, unit: str) -> Floats:
    """The matrix in ``path``, in microseconds. Raises InputError saying what is wrong."""
    if unit not in MICROSECONDS_PER:
        raise InputError("no such unit", key="--unit", value=unit, accepted=", ".join(MICROSECONDS_PER))
    accepted = (
        "one row of RTTs per host, 0 or an empty cell where nothing was measured, as many rows as columns"
    )
    rows: list[Floats] = []
    for line, text in _lines(path):
        cells = _cells(text)
        if max(len(cells), len(rows)) > MOST_PLACES:
            raise InputError("too many hosts", file=path, accepted=f"at most {MOST_PLACES}")
        if rows and len(cells) != len(rows[0]):
            problem, value = "is cut off or too long", f"{len(cells)} cells, {len(rows[0])} in the first row"
            raise InputError(problem, file=path, key=f"line {line}", value=value, accepted=accepted)
        rows.append(_rtts_us(cells, unit, path, line))
    if not rows:
        raise InputError("is empty", file=path, accepted=accepted)
    matrix = np.stack(rows)
    hosts, columns = matrix.shape
    if columns == hosts + 1 and np.isnan(matrix[:, -1]).all():
        matrix, columns = matrix[:, :-1], hosts  # a separator ends each row
    if columns != hosts:
        counts = matrix[:, 0] / MICROSECONDS_PER[unit] - np.arange(hosts)
        hint = "; the first column counts the rows: leave it out" if len({*counts.tolist()}) == 1 else ""
        value = f"{hosts} rows of {columns} cells"
        raise InputError("not square", file=path, value=value, accepted=accepted + hint)
    matrix[matrix == 0] = np.nan
    np.fill_diagonal(matrix, np.nan)
    return matrix


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of ``path``, without blank lines and comments."""
    for number, line in enumerate(text_lines(path), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _cells(line: str) -> list[str]:
    """The cells of a row, which commas separate, or else tabs, or else blanks."""
    separator = next((each for each in (",", "\t") if each in line), None)
    return [cell.strip() for cell in line.split(separator)]


def _rtts_us(cells: Sequence[str], unit: str, path: Path, line: int) -> Floats:
    """The RTTs in the ``cells`` of a row, NaN for an empty one; InputError for what is no RTT."""
    rtts = np.array([_number(cell) for cell in cells])
    most = MOST_RTT_US / MICROSECONDS_PER[unit]
    wrong = (rtts < 0) | (rtts > most)
    if wrong.any():
        column = int(wrong.argmax())
        key = f"line {line}, column {column + 1}"
        accepted = f"0 to {most:g} {unit}; is the unit right?"
        if ";" in cells[column]:
            accepted = "commas or tabs between cells, points in numbers"
        raise InputError("is no RTT", file=path, key=key, value=cells[column], accepted=accepted)
    return rtts * MICROSECONDS_PER[unit]


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


def symmetric(rtt_us: Floats) -> Floats:
    """The mean of both directions, or the measured one if only one was; NaN on the diagonal."""
    forth, back = rtt_us, rtt_us.T
    mean = (forth + back) / 2
    filled = np.where(np.isfinite(mean), mean, np.where(np.isfinite(forth), forth, back))
    np.fill_diagonal(filled, np.nan)
    return filled


def check_matrix(rtt_us: Floats, file: Path) -> MatrixSummary:
    """The summary of a matrix fit to make networks from.

    Raises InputError when the matrix is mostly empty, all the same, has a host without an RTT or an RTT of
    more than a minute, or is in another unit than stated.
    """
    known = rtt_us[np.isfinite(rtt_us)]
    if known.size and not 0 <= known.min() <= known.max() <= MOST_RTT_US:
        value, accepted = f"{known.max() / 1e6:g} s", f"0 to {MOST_RTT_US / 1e6:g} s; see --unit"
        raise InputError("no RTT is so long; is the unit right?", file=file, value=value, accepted=accepted)
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
    if (known == known[0]).all():
        raise InputError("every RTT is the same", file=file, value=f"{known[0] / 1000:g} ms")
    return summary
