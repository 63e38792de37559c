"""Coordinates fitted to a matrix of RTTs, and the model that networks draw their latencies from.

In: a symmetric matrix of RTTs in microseconds, NaN where nothing was measured. Out: a
:class:`~torsweep.network.latency.CoordinateModel`.

The fit minimises a pseudo-Huber loss of log(predicted / measured), so that relative errors count
alike on short and long paths and a few wild pairs do not bend the map, by L-BFGS from a start by
classical scaling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.optimize import minimize

from torsweep.network.exact import Floats
from torsweep.network.latency import CoordinateModel

FIT_DIMENSIONS = 5
_ITERATIONS = 300
_MOST_FITTED_PAIRS = 300_000
"""A random part of larger matrices is enough to place their hosts."""
HUBER_WIDTH = 0.3
SHORTEST_US = 1_000.0
"""Added to both sides of the ratio in the loss: below a millisecond relative errors mean nothing."""
_RESIDUAL_BINS = 16
_RESIDUAL_POINTS = 101
_PAIRS_PER_BIN = 400
_MOST_REGIONS = 64
_HOSTS_PER_REGION = 7
_SHRINKAGE = 5


@dataclass(frozen=True)
class Coordinates:
    """Fitted hosts: ``position`` (hosts, dimensions) and ``height`` (hosts,), microseconds."""

    position: Floats
    height: Floats

    def predicted(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> Floats:
        """RTTs of pairs of hosts, microseconds."""
        apart = np.sqrt(((self.position[first] - self.position[second]) ** 2).sum(axis=1))
        return apart + self.height[first] + self.height[second]


@dataclass(frozen=True)
class Pairs:
    """Measured pairs: host indices and RTT in microseconds, all (pairs,)."""

    first: NDArray[np.integer]
    second: NDArray[np.integer]
    rtt_us: Floats

    def __getitem__(self, chosen: NDArray) -> Pairs:
        return Pairs(self.first[chosen], self.second[chosen], self.rtt_us[chosen])


def measured_pairs(rtt_us: Floats) -> Pairs:
    """Every pair above the diagonal with a measurement."""
    first, second = np.triu_indices(len(rtt_us), 1)
    values = rtt_us[first, second]
    known = np.isfinite(values) & (values > 0)
    return Pairs(first[known], second[known], values[known])


def fit_coordinates(rtt_us: Floats, pairs: Pairs, dimensions: int = FIT_DIMENSIONS) -> Coordinates:
    """Coordinates for the hosts of ``rtt_us`` (hosts, hosts) that predict the RTTs of ``pairs``."""
    hosts = len(rtt_us)
    if len(pairs.rtt_us) > _MOST_FITTED_PAIRS:
        pairs = pairs[np.random.default_rng(0).permutation(len(pairs.rtt_us))[:_MOST_FITTED_PAIRS]]
    start = np.concatenate([classical_scaling(rtt_us, dimensions).ravel(), np.full(hosts, np.log(3_000.0))])
    solved = minimize(
        loss_and_slope,
        start,
        args=(hosts, dimensions, pairs),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ITERATIONS, "maxfun": 2 * _ITERATIONS},
    )
    split = hosts * dimensions
    return Coordinates(solved.x[:split].reshape(hosts, dimensions) * UNIT_US, np.exp(solved.x[split:]))


UNIT_US = 1_000.0
"""Positions are fitted in milliseconds and heights as logarithms: steps of like size for the solver."""


def loss_and_slope(parameters: Floats, hosts: int, dimensions: int, pairs: Pairs) -> tuple[float, Floats]:
    """The loss of the fit and its slope.

    ``parameters``: positions (hosts · dimensions) in milliseconds, then logarithms of heights (hosts) in
    microseconds.
    """
    split = hosts * dimensions
    position = parameters[:split].reshape(hosts, dimensions)
    height = np.exp(np.clip(parameters[split:], -20, 15))
    first, second = pairs.first, pairs.second
    apart = position[first] - position[second]
    distance = np.sqrt((apart**2).sum(axis=1) + 1e-4)
    predicted = distance * UNIT_US + height[first] + height[second] + SHORTEST_US
    error = np.log(predicted / (pairs.rtt_us + SHORTEST_US))
    softened = np.sqrt(1 + (error / HUBER_WIDTH) ** 2)
    slope = error / softened / predicted
    pull = apart * (slope * UNIT_US / distance)[:, None]
    by_position = np.stack(
        [np.bincount(first, axis, hosts) - np.bincount(second, axis, hosts) for axis in pull.T], axis=1
    )
    by_height = (np.bincount(first, slope, hosts) + np.bincount(second, slope, hosts)) * height
    loss = float((HUBER_WIDTH**2 * (softened - 1)).sum())
    return loss, np.concatenate([by_position.ravel(), by_height])


def classical_scaling(rtt_us: Floats, dimensions: int) -> Floats:
    """Torgerson's embedding in milliseconds; gaps become the median, the longest hundredth is cut."""
    filled = np.where(np.isfinite(rtt_us), rtt_us, np.nanmedian(rtt_us)) / UNIT_US
    squared = np.minimum(filled, np.percentile(filled, 99)) ** 2
    centre = np.eye(len(squared)) - 1 / len(squared)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    spread = vectors[:, -dimensions:] * np.sqrt(np.maximum(values[-dimensions:], 1.0))
    # Hosts with equal rows would start, and stay, on one point, where distance has no slope.
    return spread + np.random.default_rng(0).normal(0, 1, spread.shape)


def coordinate_model(coordinates: Coordinates, pairs: Pairs) -> CoordinateModel:
    """The sampler's model: rounded coordinates, regions with corrections, and residuals of ``pairs``."""
    position = np.rint(coordinates.position).astype(np.int32)
    height = np.rint(coordinates.height).astype(np.int32)
    rounded = Coordinates(position.astype(np.float64), height.astype(np.float64))
    region, correction = _regions(rounded, pairs)
    predicted = predicted_us(rounded, region, correction, pairs)
    ratio = pairs.rtt_us / predicted
    bins = max(1, min(_RESIDUAL_BINS, len(predicted) // _PAIRS_PER_BIN))
    edges = np.unique(np.quantile(predicted, np.arange(1, bins) / bins).astype(np.int32))
    bin_of = np.searchsorted(edges, predicted)
    levels = np.linspace(0, 1, _RESIDUAL_POINTS)
    table = np.stack([np.quantile(ratio[bin_of == number], levels) for number in range(len(edges) + 1)])
    residuals = np.maximum(np.round(table, 5), 1e-5)
    return CoordinateModel(position, height, region, correction, edges, residuals)


def model_predictions(model: CoordinateModel, pairs: Pairs) -> Floats:
    """RTTs of ``pairs`` of the model's own hosts, without the drawn factor, microseconds."""
    coordinates = Coordinates(model.position_us.astype(np.float64), model.height_us.astype(np.float64))
    return predicted_us(coordinates, model.region, model.correction, pairs)


def predicted_us(
    coordinates: Coordinates, region: NDArray[np.integer], correction: Floats, pairs: Pairs
) -> Floats:
    """RTTs of ``pairs`` by coordinates and corrections, at least one microsecond."""
    by_coordinates = coordinates.predicted(pairs.first, pairs.second)
    return np.maximum(by_coordinates * correction[region[pairs.first], region[pairs.second]], 1.0)


def _regions(coordinates: Coordinates, pairs: Pairs) -> tuple[NDArray[np.int32], Floats]:
    """Regions by k-means, and for each two of them the mean logarithm of measured / predicted RTT.

    Means are shrunk towards no correction as if each had five more pairs without an error.
    """
    regions = max(1, min(_MOST_REGIONS, len(coordinates.height) // _HOSTS_PER_REGION))
    _, label = kmeans2(coordinates.position, regions, rng=np.random.default_rng(1), minit="++")
    used, region = np.unique(label, return_inverse=True)
    error = np.log(pairs.rtt_us / np.maximum(coordinates.predicted(pairs.first, pairs.second), 1.0))
    ends = np.sort(np.stack([region[pairs.first], region[pairs.second]]), axis=0)
    cell = ends[0] * len(used) + ends[1]
    sums = np.bincount(cell, np.clip(error, -1, 1), len(used) ** 2)
    means = (sums / (np.bincount(cell, minlength=len(used) ** 2) + _SHRINKAGE)).reshape(len(used), -1)
    both: Floats = np.triu(means) + np.triu(means, 1).T
    return region.astype(np.int32), np.round(np.exp(both), 4).astype(np.float64)
