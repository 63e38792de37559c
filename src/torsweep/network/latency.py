"""RTTs between the hosts of a network, and the coordinate model of latency that they come from.

In: where latencies come from (a coordinate model, or a measured matrix), the hosts by kind, a seed,
the clients' access delay. Out: a :class:`LatencyField` that yields the RTT matrix in blocks of rows,
int32 microseconds, symmetric.

The model is an npz file with fitted coordinates, heights and the residual distribution. The RTT of
hosts i and j is predicted as (‖xᵢ − xⱼ‖ + hᵢ + hⱼ) · c: coordinates and heights (Vivaldi's form:
Dabek et al., SIGCOMM 2004) with a correction c for the two places the hosts are in, because detours
of routing are shared by neighbours. It is multiplied by a factor drawn for the pair from the
quantiles of measured / predicted RTT among pairs of like prediction. Corrections and factors let
triangle violations survive; coordinates have none.

Hosts of a kind draw their place from their kind's own stream and a pair draws its residual from a
hash of both hosts' keys: the RTT of two hosts does not depend on which others there are.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from torsweep.config.network import AccessDelay
from torsweep.errors import InputError
from torsweep.formats.arrays import read_arrays
from torsweep.network.exact import (
    Floats,
    conditional_quantile,
    lognormal_table,
    mixed_uniform,
    normal_table,
    quantile,
    whole,
)
from torsweep.network.model import LATENCY_FLOOR_US
from torsweep.ranges import MOST_RTT_US
from torsweep.seeds import stream
from torsweep.storage import whole_file

MODEL_FILE = "latency.npz"
_MEASURED = "measured_us"

_FACTORS = (1e-6, 1e6)
"""Ratios of measured to predicted RTT."""
_MOST_DIMENSIONS = 16
_TYPES = {
    "position_us": "int32",
    "height_us": "int32",
    "place": "int32",
    "correction": "float64",
    "bin_edge_us": "int32",
    "ratio": "float64",
    "jitter_us": "int32",
}


@dataclass(frozen=True)
class CoordinateModel:
    """Fitted hosts and residuals; times in microseconds.

    ``position_us`` (hosts, dimensions) and ``height_us`` (hosts,), int32; ``place`` (hosts,) int32 in
    0 … places − 1 and ``correction`` (places, places) float64, symmetric; ``bin_edge_us`` (bins − 1,)
    int32, ascending, splits predictions into bins; ``ratio`` (bins, points) float64 holds quantiles
    of measured / predicted RTT in each bin; ``jitter_us`` (dimensions,) int32 is the standard
    deviation by which a new host is moved from the fitted host it is made from.
    """

    position_us: NDArray[np.int32]
    height_us: NDArray[np.int32]
    place: NDArray[np.int32]
    correction: Floats
    bin_edge_us: NDArray[np.int32]
    ratio: Floats
    jitter_us: NDArray[np.int32]

    @property
    def dimensions(self) -> int:
        """Dimensions of the Euclidean part."""
        return self.position_us.shape[1]


def write_model(model: CoordinateModel, path: Path, measured_us: NDArray[np.int32] | None = None) -> None:
    """Write ``model`` to ``path``, and with it the matrix it was fitted to, gaps filled.

    ``measured_us`` is (hosts, hosts) in microseconds. The same content gives the same bytes.
    """
    arrays = vars(model) | ({} if measured_us is None else {_MEASURED: measured_us})
    with whole_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in sorted(arrays.items()):
            # A fixed date: zip entries otherwise carry the time they were written.
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def read_model(path: Path) -> CoordinateModel:
    """The model in ``path``. Raises InputError when the file is damaged or of another kind."""
    arrays = read_arrays(path)
    if "position_us" not in arrays:
        raise InputError("is not a latency table made by torsweep", file=path)
    for name, dtype in _TYPES.items():
        if name not in arrays:
            raise InputError("is not a whole latency table: an array is missing", file=path, key=name)
        if arrays[name].dtype != dtype:
            found = str(arrays[name].dtype)
            raise InputError("has another type", file=path, key=name, value=found, accepted=dtype)
    model = CoordinateModel(**{name: arrays[name] for name in _TYPES})
    check_model(model, path)
    return model


def read_measured(path: Path) -> NDArray[np.int32]:
    """The matrix of RTTs in the imported table ``path``, (hosts, hosts) int32 microseconds.

    Raises InputError when the table is a derived one, which holds no measurement, or an RTT is out of range.
    """
    arrays = read_arrays(path)
    if _MEASURED not in arrays:
        accepted = "a table made by `torsweep latency import`"
        problem = "holds no measured matrix to draw from directly"
        raise InputError(problem, file=path, key="latency.use", accepted=accepted)
    matrix = arrays[_MEASURED]
    if matrix.dtype != np.int32 or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        value = f"{matrix.dtype} {matrix.shape}"
        accepted = "int32 (hosts, hosts)"
        raise InputError("is no matrix", file=path, key=_MEASURED, value=value, accepted=accepted)
    _require(path, _MEASURED, matrix, 0, MOST_RTT_US, "µs")
    return matrix


def check_model(model: CoordinateModel, path: Path) -> None:
    """InputError unless the arrays of ``model`` fit each other and every number lies in its range."""
    hosts = len(model.position_us)
    fits = (
        model.position_us.ndim == 2
        and hosts > 0
        and 0 < model.dimensions <= _MOST_DIMENSIONS
        and model.height_us.shape == (hosts,)
        and model.place.shape == (hosts,)
        and int(model.place.min()) >= 0
        and model.correction.shape == (int(model.place.max()) + 1,) * 2
        and model.ratio.ndim == 2
        and len(model.ratio) > 0
        and model.ratio.shape[1] >= 2
        and model.bin_edge_us.shape == (len(model.ratio) - 1,)
        and model.jitter_us.shape == (model.dimensions,)
    )
    if not fits:
        raise InputError("its arrays do not fit each other", file=path)
    _require(path, "position_us", model.position_us, -MOST_RTT_US, MOST_RTT_US, "µs")
    _require(path, "height_us", model.height_us, 0, MOST_RTT_US, "µs")
    _require(path, "jitter_us", model.jitter_us, 0, MOST_RTT_US, "µs")
    _require(path, "bin_edge_us", model.bin_edge_us, 0, 10 * MOST_RTT_US, "µs")
    _require(path, "ratio", model.ratio, *_FACTORS)
    _require(path, "correction", model.correction, *_FACTORS)
    if (np.diff(model.bin_edge_us) <= 0).any() or (np.diff(model.ratio, axis=1) < 0).any():
        raise InputError("its bins or quantiles do not ascend", file=path)


def _require(path: Path, key: str, values: NDArray, least: float, most: float, unit: str = "") -> None:
    """InputError unless each of ``values`` lies from ``least`` to ``most``; NaN does not."""
    if values.size and not (values.min() >= least and values.max() <= most):
        wrong = values[~((values >= least) & (values <= most))].flat[0].item()
        accepted = f"{least:g} to {most:g} {unit}".rstrip()
        raise InputError("holds a number out of range", file=path, key=key, value=wrong, accepted=accepted)


BLOCK_CELLS = 100_000
"""A block's arrays stay in a processor's cache; with blocks of 16 MB sampling took twice as long."""
_NS_PER_US = 1_000
_HEIGHT_SIGMA = 0.2
"""A new host's height differs from its model host's by this much (standard deviation of the logarithm)."""

KINDS = ("relay", "authority", "web", "bulk", "perf", "server")
_WITH_LAST_MILE = ("web", "bulk")
_FROM_FRONT = ("relay", "authority", "web")
_FROM_BACK = ("server", "bulk", "perf")


class PairLatency(Protocol):
    """RTTs of pairs of hosts, before access delay and floor."""

    def rows(self, first: int, last: int) -> NDArray[np.int64]:
        """RTTs of hosts ``first`` … ``last`` − 1 to all hosts, (last − first, hosts), microseconds."""


@dataclass(frozen=True)
class LatencyField:
    """The RTT matrix of a network, made on demand. ``access_us`` (hosts,) is added for both ends."""

    pairs: PairLatency
    access_us: NDArray[np.int64]

    @property
    def hosts(self) -> int:
        """The number of hosts, in the order of ``KINDS``."""
        return len(self.access_us)

    def blocks(self) -> Iterator[NDArray[np.int32]]:
        """Blocks of rows from top to bottom, (rows, hosts) int32 microseconds."""
        step = max(1, BLOCK_CELLS // self.hosts)
        for first in range(0, self.hosts, step):
            yield self._rows(first, min(first + step, self.hosts))

    def _rows(self, first: int, last: int) -> NDArray[np.int32]:
        rtt_us = self.pairs.rows(first, last)
        rtt_us += self.access_us[first:last, None]
        rtt_us += self.access_us[None, :]
        np.maximum(rtt_us, LATENCY_FLOOR_US, out=rtt_us)
        rtt_us[np.arange(last - first), np.arange(first, last)] = LATENCY_FLOOR_US
        return np.minimum(rtt_us, MOST_RTT_US).astype(np.int32)


def access_round_trips(counts: Mapping[str, int], delay: AccessDelay, seed: int) -> NDArray[np.int64]:
    """What each host's last mile adds to its RTTs, (hosts,) microseconds; 0 but for web and bulk clients."""
    table = np.minimum(lognormal_table(delay.median, delay.sigma), float(delay.maximum))
    parts = []
    for kind in KINDS:
        if kind in _WITH_LAST_MILE:
            one_way_ns = quantile(table, stream(seed, "latency", kind, "access").random(counts[kind]))
            parts.append(whole(one_way_ns * 2 / _NS_PER_US))
        else:
            parts.append(np.zeros(counts[kind], dtype=np.int64))
    return np.concatenate(parts)


class ModelledPairs:
    """RTTs from a coordinate model: each host is a fitted host moved a little."""

    def __init__(self, model: CoordinateModel, counts: Mapping[str, int], seed: int) -> None:
        self._model = model
        places = [_place(model, counts[kind], seed, kind) for kind in KINDS]
        self._position = np.concatenate([place.position_us for place in places])
        self._height = np.concatenate([place.height_us for place in places])
        self._place = np.concatenate([place.place for place in places])
        self._keys = np.concatenate([host_keys(seed, kind, counts[kind]) for kind in KINDS])

    def rows(self, first: int, last: int) -> NDArray[np.int64]:
        """See :class:`PairLatency`."""
        predicted = self._predicted(first, last)
        bins = np.searchsorted(self._model.bin_edge_us, predicted)
        draw = mixed_uniform(self._keys[first:last, None] + self._keys[None, :])
        return whole(np.multiply(predicted, conditional_quantile(self._model.ratio, bins, draw)))

    def _predicted(self, first: int, last: int) -> Floats:
        # Whole microseconds, so that squares and sums are exact and only the root is rounded.
        squared = np.zeros((last - first, len(self._height)), dtype=np.int64)
        for axis in range(self._model.dimensions):
            along = self._position[:, axis]
            difference = along[first:last, None] - along[None, :]
            squared += difference * difference
        heights = self._height[first:last, None] + self._height[None, :]
        corrections = self._model.correction[self._place[first:last, None], self._place[None, :]]
        return np.multiply(np.add(np.sqrt(squared.astype(np.float64)), heights), corrections)


class MeasuredPairs:
    """RTTs drawn directly from a measured matrix: each host is a row of its own.

    Relays, authorities and web clients take rows from the front of a random order, servers, bulk and perf
    clients from its back, so that more clients move no other host to another row.
    """

    def __init__(self, rtt_us: NDArray[np.int32], counts: Mapping[str, int], seed: int) -> None:
        order = np.argsort(stream(seed, "latency", "rows").random(len(rtt_us)), kind="stable")
        front = np.split(order, np.cumsum([counts[kind] for kind in _FROM_FRONT]))
        back = np.split(order[::-1], np.cumsum([counts[kind] for kind in _FROM_BACK]))
        row_of = dict(zip(_FROM_FRONT + _FROM_BACK, [*front[:-1], *back[:-1]], strict=True))
        self._rtt_us = rtt_us
        self._row = np.concatenate([row_of[kind] for kind in KINDS])

    def rows(self, first: int, last: int) -> NDArray[np.int64]:
        """See :class:`PairLatency`."""
        return self._rtt_us[np.ix_(self._row[first:last], self._row)].astype(np.int64)


@dataclass(frozen=True)
class _Places:
    position_us: NDArray[np.int64]
    height_us: NDArray[np.int64]
    place: NDArray[np.int32]


def _place(model: CoordinateModel, count: int, seed: int, kind: str) -> _Places:
    draws = stream(seed, "latency", kind, "place").random((count, 2 + model.dimensions))
    base = np.floor(draws[:, 0] * len(model.height_us)).astype(np.int64)
    height = model.height_us[base] * quantile(lognormal_table(1.0, _HEIGHT_SIGMA), draws[:, 1])
    moved = quantile(normal_table(), draws[:, 2:]) * model.jitter_us[None, :]
    return _Places(model.position_us[base] + whole(moved), whole(height), model.place[base])


def host_keys(seed: int, kind: str, count: int) -> NDArray[np.uint64]:
    """A 64-bit key for each host of ``kind``; the sum of two keys stands for their pair."""
    return stream(seed, "latency", kind, "keys").integers(0, 2**64, count, dtype=np.uint64)
