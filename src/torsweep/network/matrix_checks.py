"""Statistics of a matrix of RTTs, to look at before trusting the matrix.

In: a square matrix of RTTs in microseconds, NaN where nothing was measured. Out:
:class:`MatrixSummary`; InputError for a matrix no network could be made from.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError
from torsweep.network.exact import Floats
from torsweep.ranges import MOST_RTT_US

_TRIANGLES = 400_000
_LEAST_HOSTS = 8
"""With fewer hosts, a model of five coordinates and one height for each host has more numbers than the
matrix."""

LEAST_MEDIAN_US = 1_000.0
MOST_MEDIAN_US = 5_000_000.0
"""Medians of RTTs between hosts of the Internet lie between; outside, the unit is another one."""

_FACTORS = {"1000 times as large": 1000.0, "1000 times as small": 0.001, "a million times as large": 1e6}
"""The factors between seconds, milliseconds and microseconds."""


class Violations(NamedTuple):
    """How often the triangle inequality fails.

    A triangle has three inequalities, of which at most one can fail: ``of_triangles`` is three times
    ``of_inequalities``, and publications quote either.
    """

    of_inequalities: float
    of_triangles: float


@dataclass(frozen=True)
class MatrixSummary:
    """Statistics of a matrix of RTTs; fractions in 0..1, asymmetry as the median of |a−b| / mean."""

    hosts: int
    median_rtt_us: float
    asymmetry: float
    missing: float
    violations: Violations


def triangle_violations(rtt_us: Floats) -> Violations:
    """Violations among the triangles all of whose sides are known: 400,000 random ones, or all if fewer."""
    first, second, third = _corners(len(rtt_us))
    sides = np.stack([rtt_us[first, second], rtt_us[second, third], rtt_us[first, third]])
    sides = sides[:, np.isfinite(sides).all(axis=0)]
    if not sides.shape[1]:
        return Violations(0.0, 0.0)
    share = float((2 * sides.max(axis=0) > sides.sum(axis=0)).mean())
    return Violations(share / 3, share)


def _corners(hosts: int) -> NDArray[np.integer]:
    """Indices of three different hosts a column, (3, triangles)."""
    if math.comb(hosts, 3) <= _TRIANGLES:
        return np.array(list(itertools.combinations(range(hosts), 3)), dtype=np.intp).reshape(-1, 3).T
    corners = np.random.default_rng(0).integers(0, hosts, (_TRIANGLES, 3)).T
    first, second, third = corners
    return corners[:, (first != second) & (second != third) & (first != third)]


def summarise(rtt_us: Floats) -> MatrixSummary:
    """Statistics of ``rtt_us`` (hosts, hosts), whose diagonal is not looked at."""
    hosts = len(rtt_us)
    first, second = np.triu_indices(hosts, 1)
    there, back = rtt_us[first, second], rtt_us[second, first]
    both = np.isfinite(there) & np.isfinite(back)
    apart = np.abs(there[both] - back[both]) / np.maximum((there[both] + back[both]) / 2, 1e-9)
    values = np.concatenate([there, back])
    known = np.isfinite(values)
    return MatrixSummary(
        hosts=hosts,
        median_rtt_us=float(np.median(values[known])) if known.any() else float("nan"),
        asymmetry=float(np.median(apart)) if len(apart) else 0.0,
        missing=float(1 - known.mean()) if len(values) else 0.0,
        violations=triangle_violations(symmetric(rtt_us)),
    )


def symmetric(rtt_us: Floats) -> Floats:
    """The mean of both directions, or the one that was measured; NaN on the diagonal."""
    there, back = rtt_us, rtt_us.T
    mean = (there + back) / 2
    filled = np.where(np.isfinite(mean), mean, np.where(np.isfinite(there), there, back))
    np.fill_diagonal(filled, np.nan)
    return filled


def check_matrix(rtt_us: Floats, file: Path) -> MatrixSummary:
    """The summary of a matrix fit to make networks from.

    Raises InputError when the matrix is too small, mostly empty, has a negative RTT or one of more
    than a minute, or is in another unit than was said.
    """
    if (rtt_us < 0).any():
        row, column = np.argwhere(rtt_us < 0)[0]
        where = f"row {row + 1}, column {column + 1}"
        raise InputError("negative RTT", file=file, key=where, value=float(rtt_us[row, column]) / 1000)
    if (rtt_us > MOST_RTT_US).any():
        row, column = np.argwhere(rtt_us > MOST_RTT_US)[0]
        where = f"row {row + 1}, column {column + 1}"
        seconds = float(rtt_us[row, column]) / 1e6
        raise InputError(
            "no RTT is so long; is the unit right?",
            file=file,
            key=where,
            value=f"{seconds:g} s",
            accepted=f"at most {MOST_RTT_US / 1e6:g} s",
        )
    if len(rtt_us) < 3:
        raise InputError("too few hosts", file=file, value=len(rtt_us), accepted="3 or more")
    summary = summarise(rtt_us)
    if not summary.missing < 0.9:
        raise InputError(
            "hardly any pair of hosts was measured",
            file=file,
            value=f"{100 * (1 - summary.missing):.1f} %",
            accepted="10 % of the pairs or more",
        )
    _check_unit(summary.median_rtt_us, file)
    if len(rtt_us) < _LEAST_HOSTS:
        raise InputError("too few hosts", file=file, value=len(rtt_us), accepted=f"{_LEAST_HOSTS} or more")
    known = rtt_us[np.isfinite(rtt_us)]
    if (known == known[0]).all():
        raise InputError("every RTT is the same", file=file, value=f"{known[0] / 1000:g} ms")
    return summary


def _check_unit(median_us: float, file: Path) -> None:
    if not LEAST_MEDIAN_US <= median_us <= MOST_MEDIAN_US:
        fitting = [
            unit
            for unit, factor in _FACTORS.items()
            if LEAST_MEDIAN_US <= median_us * factor <= MOST_MEDIAN_US
        ]
        guess = f", but numbers {fitting[0]} would be" if fitting else ""
        raise InputError(
            f"the median RTT is not one of the Internet's{guess}: is the unit right?",
            file=file,
            value=f"{median_us / 1000:g} ms",
            accepted=f"{LEAST_MEDIAN_US / 1000:g} to {MOST_MEDIAN_US / 1000:g} ms; see --unit",
        )
