"""What tables of RTTs are compared by: quantiles, violated triangles, detours, errors of predictions.

In: matrices of RTTs in microseconds, NaN where nothing was measured, or predictions with what was
measured. Out: rounded numbers for errors.json.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torsweep.network.exact import Floats
from torsweep.network.latency import CoordinateModel, host_places, modelled_matrix
from torsweep.network.model import LATENCY_FLOOR_US, Latencies

LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
QUANTILES = "RTT ms at " + " ".join(f"p{100 * level:g}" for level in LEVELS)
DECILES = "relative error p50 by tenth of the RTT"
_ROWS = 150
"""Hosts whose pairs with all others stand for all pairs where detours are looked for."""


class Detours(NamedTuple):
    """Shares of the pairs whose RTT is longer than a path over a third host, and a quarter longer or more."""

    shorter: float
    fifth_shorter: float


def detours(rtt_us: Floats) -> Detours:
    """How often the shortest path over one other host beats the RTT, and by a fifth (``≤ 0.8``).

    The relative path length of Ledlie, Gardner and Seltzer (NSDI 2007), over the rows of 150 random hosts.
    """
    known = np.where(np.isfinite(rtt_us), np.maximum(rtt_us, LATENCY_FLOOR_US), np.inf)
    rows = np.random.default_rng(0).permutation(len(known))[:_ROWS]
    best = np.stack([(known[row][:, None] + known).min(axis=0) for row in rows])
    measured = np.isfinite(known[rows])
    length = best[measured] / known[rows][measured]
    return Detours(float((length < 1).mean()), float((length <= 0.8).mean()))


def generated(model: CoordinateModel, hosts: int, seed: int = 1) -> Floats:
    """RTTs between the ``hosts`` of a network without a last mile; NaN on the diagonal."""
    matrix_us = modelled_matrix(model, seed)
    place = host_places("relay", hosts, len(matrix_us), seed)
    latencies = Latencies(matrix_us, place, np.zeros(hosts, dtype=np.int64), LATENCY_FLOOR_US)
    every = np.arange(hosts)
    rtt_us = latencies.between(every[:, None], every).astype(float)
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def between_places(model: CoordinateModel, seed: int) -> Floats:
    """RTTs between the places of a network, at least the floor; NaN on the diagonal."""
    rtt_us = np.maximum(modelled_matrix(model, seed), LATENCY_FLOOR_US).astype(float)
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def upper_triangle(rtt_us: Floats) -> Floats:
    """The RTT of each measured pair once, microseconds."""
    values = rtt_us[np.triu_indices(len(rtt_us), 1)]
    return values[np.isfinite(values)]


def quantiles_ms(rtt_us: Floats) -> list[float]:
    """RTTs at ``LEVELS``, milliseconds."""
    return [round(float(value), 1) for value in np.quantile(upper_triangle(rtt_us) / 1000, LEVELS)]


class Violations(NamedTuple):
    """How often the triangle inequality fails.

    A triangle has three inequalities, of which at most one can fail: ``of_triangles`` is three times
    ``of_inequalities``, and publications quote either.
    """

    of_inequalities: float
    of_triangles: float


_TRIANGLES = 400_000


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


def violations(rtt_us: Floats) -> dict[str, float]:
    """Violated triangle inequalities, RTTs raised to the floor of networks."""
    found = triangle_violations(np.maximum(rtt_us, LATENCY_FLOOR_US))
    return {"of inequalities": round(found.of_inequalities, 4), "of triangles": round(found.of_triangles, 4)}


def detour_shares(rtt_us: Floats) -> dict[str, float]:
    """:func:`detours`, rounded and by name."""
    found = detours(rtt_us)
    return {"shorter": round(found.shorter, 3), "a fifth shorter": round(found.fifth_shorter, 3)}


def errors(predicted: Floats, measured: Floats) -> dict:
    """Relative and absolute errors of predictions, that is without the drawn factor."""
    relative = np.abs(predicted - measured) / measured
    return {
        "pairs": len(measured),
        "relative error p50": round(float(np.median(relative)), 4),
        "relative error p90": round(float(np.quantile(relative, 0.9)), 4),
        "absolute error p50 ms": round(float(np.median(np.abs(predicted - measured))) / 1000, 2),
    }


def decile_errors(predicted: Floats, measured: Floats) -> list[float]:
    """The median relative error in each tenth of the pairs, by measured RTT from short to long."""
    relative = np.abs(predicted - measured) / measured
    tenth = np.searchsorted(np.quantile(measured, np.arange(1, 10) / 10), measured)
    return [round(float(np.median(relative[tenth == number])), 4) for number in range(10)]
