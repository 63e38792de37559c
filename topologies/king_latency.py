"""The ``king`` latency model: an embedding of King with a fitted residual. It is not King itself.

In: ``king_vivaldi_2d.txt``, ``id x y`` of 1,740 hosts whose distances are their RTTs in milliseconds, and
another measured matrix. Out: ``king.npz`` and how far its networks are from what was
published of King.

Distances of an embedding violate no triangle, and its short paths are too short. The RTT of a pair is
its distance d times s · (d / 100 ms)^p · exp(m + v · R). m is the median and R the deviation from it of
the logarithm of measured / embedded RTT, among pairs of that matrix at the same rank of distance in
an embedding of the same kind; v is one number where R is positive and another where it is negative.
The four numbers (:class:`Residual`) are those with which the embedding's 1,740 hosts, each a place, give
back the four of ``PUBLISHED``. The table has a third as many places, between which there are fewer detours,
as there are between a third of the hosts of a measured matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from coordinate_fit import (
    Coordinates,
    Pairs,
    classical_scaling,
    loss_and_slope,
    measured_pairs,
)
from latency_statistics import (
    QUANTILES,
    between_places,
    detours,
    generated,
    quantiles_ms,
    upper_triangle,
    violations,
)
from scipy.optimize import least_squares, minimize

from torsweep.network.exact import Floats
from torsweep.network.latency import CoordinateModel, write_model

PUBLISHED: Mapping[str, float] = {
    "mean ms": 180.0,
    "median ms": 159.0,
    "pairs with a shorter detour": 0.85,
    "pairs with a detour a fifth shorter": 0.22,
}
"""Mean and median: commonly given for the data set of Dabek, Cox, Kaashoek, Morris, SIGCOMM 2004. Detours
over one of the other hosts: Ledlie, Gardner, Seltzer, NSDI 2007, section 3.3."""

_HOSTS = 1740
_HOSTS_PER_POINT = 3
_BINS = 16
_POINTS = 101
_RAREST = 0.001
"""The table ends at these quantiles of a bin: what lies beyond are single wild pairs of that matrix."""
_REFERENCE_US = 100_000.0
_NO_HEIGHT = -20.0
_FITTED_SEED = 1
_JUDGED_SEEDS = (2, 3, 4)
_THIRDS = 10
"""Random thirds of a measured matrix's hosts."""


@dataclass(frozen=True)
class Residual:
    """``scale`` s and ``power`` p of the distance; ``above`` and ``below``: v for positive and negative R."""

    scale: float
    power: float
    above: float
    below: float


_START = Residual(scale=1.0, power=-0.05, above=1.0, below=0.2)


def derive_king(embedding: Path, rtt_us: Floats, out: Path) -> dict:
    """Write ``out`` from the file ``embedding``; the measured ``rtt_us`` give the shape of the residual."""
    embedded_us = np.loadtxt(embedding)[:, 1:] * 1000
    shape = residual_shape(rtt_us, measured_pairs(rtt_us))

    def misses(numbers: Floats) -> Floats:
        found = published_like(
            between_places(king_model(embedded_us, shape, Residual(*numbers)), _FITTED_SEED)
        )
        return np.array([np.log(found[name] / value) for name, value in PUBLISHED.items()])

    bounds = ([0.5, -0.5, 0.05, 0.0], [2.0, 0.5, 4.0, 1.0])
    found = least_squares(
        misses, astuple(_START), bounds=bounds, diff_step=np.full(len(PUBLISHED), 0.05), max_nfev=8
    )
    residual = Residual(*(round(float(number), 4) for number in found.x))
    model = king_model(neighbour_means(embedded_us), shape, residual)
    write_model(model, out)
    whole = king_model(embedded_us, shape, residual)
    return {
        "fitted": {name: float(value) for name, value in vars(residual).items()},
        **_judged(model, whole, embedded_us),
        "PlanetLab's detours": _detours_of_a_third(rtt_us),
    }


def neighbour_means(position_us: Floats) -> Floats:
    """Means of three neighbours each, (hosts / 3, 2): halves along the wider axis until three are left."""
    if len(position_us) <= _HOSTS_PER_POINT:
        return np.asarray(position_us.mean(axis=0, keepdims=True))
    axis = int(np.ptp(position_us, axis=0).argmax())
    ordered = position_us[np.argsort(position_us[:, axis], kind="stable")]
    half = -(-len(ordered) // _HOSTS_PER_POINT) // 2 * _HOSTS_PER_POINT
    return np.concatenate([neighbour_means(ordered[:half]), neighbour_means(ordered[half:])])


def residual_shape(rtt_us: Floats, pairs: Pairs) -> Floats:
    """Quantiles of log(measured / embedded RTT), (bins, points), for an embedding of the same kind.

    ``rtt_us`` is embedded in two dimensions without heights; bins are equal shares of its ``pairs``, by
    embedded distance.
    """
    hosts = len(rtt_us)
    split = hosts * 2

    def loss(parameters: Floats) -> tuple[float, Floats]:
        value, slope = loss_and_slope(parameters, hosts, 2, pairs)
        slope[split:] = 0
        return value, slope

    start = np.concatenate([classical_scaling(rtt_us, 2).ravel(), np.full(hosts, _NO_HEIGHT)])
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    flat = Coordinates(solved.x[:split].reshape(hosts, 2) * 1000, np.zeros(hosts))
    distance = np.maximum(flat.predicted(pairs.first, pairs.second), 1.0)
    error = np.log(pairs.rtt_us / distance)
    bin_of = np.searchsorted(_edges(distance), distance)
    levels = np.clip(np.linspace(0, 1, _POINTS), _RAREST, 1 - _RAREST)
    return np.stack([np.quantile(error[bin_of == number], levels) for number in range(_BINS)])


def _edges(distance: Floats) -> Floats:
    return np.asarray(np.quantile(distance, np.arange(1, _BINS) / _BINS))


def king_model(points: Floats, shape: Floats, residual: Residual) -> CoordinateModel:
    """The sampler's model of ``points`` (hosts, 2) µs, whose factors have that ``shape`` and ``residual``."""
    position = np.rint(points).astype(np.int32)
    height = np.zeros(len(position), dtype=np.int32)
    coordinates = Coordinates(position.astype(np.float64), height.astype(np.float64))
    distance = coordinates.predicted(*np.triu_indices(len(position), 1))
    edges = _edges(distance)
    bin_of = np.searchsorted(edges, distance)
    centre = np.array([np.median(distance[bin_of == number]) for number in range(_BINS)])
    median = shape[:, _POINTS // 2, None]
    deviation = shape - median
    turned = np.where(deviation > 0, residual.above, residual.below) * deviation
    of_distance = residual.scale * (centre[:, None] / _REFERENCE_US) ** residual.power
    return CoordinateModel(
        position_us=position,
        height_us=height,
        region=np.zeros(len(position), dtype=np.int32),
        correction=np.ones((1, 1)),
        bin_edge_us=edges.astype(np.int32),
        ratio=np.round(of_distance * np.exp(median + turned), 5),
    )


def published_like(rtt_us: Floats) -> dict[str, float]:
    """The statistics of ``PUBLISHED`` for a matrix of RTTs."""
    rtts_ms = upper_triangle(rtt_us) / 1000
    found = detours(rtt_us)
    numbers = (rtts_ms.mean(), np.median(rtts_ms), found.shorter, found.fifth_shorter)
    return {name: float(number) for name, number in zip(PUBLISHED, numbers, strict=True)}


def _judged(model: CoordinateModel, whole: CoordinateModel, embedded_us: Floats) -> dict:
    """Networks of other seeds than the fit's, beside what was published of King.

    ``generated`` are those of the embedding's hosts, each a place; ``networks`` have as many hosts at the
    places of the table.
    """
    every = [between_places(whole, seed) for seed in _JUDGED_SEEDS]
    networks = [generated(model, _HOSTS, seed) for seed in _JUDGED_SEEDS]
    embedding = np.sqrt(((embedded_us[:, None] - embedded_us[None]) ** 2).sum(axis=2))
    np.fill_diagonal(embedding, np.nan)
    tables = {"embedding": embedding, "generated": every[0], "networks": networks[0]}
    # Each row of the table of factors is that of as many pairs.
    off = np.abs(1 / model.ratio - 1)
    return {
        "points": len(model.region),
        "published": dict(PUBLISHED),
        "generated": _mean([published_like(matrix) for matrix in every]),
        "networks": _mean([published_like(matrix) for matrix in networks]),
        "embedding": _mean([published_like(embedding)]),
        "distance off the RTT p50": round(float(np.median(off)), 4),
        "distance off the RTT p90": round(float(np.quantile(off, 0.9)), 4),
        QUANTILES: {table: quantiles_ms(matrix) for table, matrix in tables.items()},
        "triangle violations": {table: violations(matrix) for table, matrix in tables.items()},
    }


def _mean(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.mean([each[name] for each in found])), 4) for name in PUBLISHED}


def _detours_of_a_third(rtt_us: Floats) -> dict[str, list[float]]:
    """Detours in a measured matrix, and between a third of its hosts, the mean of random thirds."""
    random, hosts = np.random.default_rng(1), len(rtt_us)
    thirds = [random.permutation(hosts)[: hosts // _HOSTS_PER_POINT] for _ in range(_THIRDS)]
    few = np.mean([detours(rtt_us[np.ix_(third, third)]) for third in thirds], axis=0)
    return {
        "all hosts": [round(share, 3) for share in detours(rtt_us)],
        "a third of the hosts": [round(float(share), 3) for share in few],
    }
