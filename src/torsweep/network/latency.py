"""The places of a network, the round trips between them, and where hosts are.

In: where latencies come from (a coordinate model, or a measured matrix), how many hosts there are of a kind,
a seed, the clients' access delay. Out: the matrix of round trips between places, int32 microseconds,
symmetric; the place of each host and what its access link adds.

The model is an npz file with fitted coordinates, heights and the residual distribution. The RTT of places i
and j is predicted as (‖xᵢ − xⱼ‖ + hᵢ + hⱼ) · c: coordinates and heights (Vivaldi's form: Dabek et al.,
SIGCOMM 2004) with a correction c for the two regions the places are in, because detours of routing are shared
by neighbours. It is multiplied by a factor drawn for the pair from the quantiles of measured / predicted RTT
among pairs of like prediction. Corrections and factors let triangle violations survive; coordinates have
none.

A pair of places draws its factor from a hash of both places' keys, which depend on the seed alone. Two hosts
at one place are as far apart as it and the place nearest to it. Hosts of a kind draw their places from their
kind's own stream: the RTT of two hosts does not depend on which others there are. All places are alike, but
where a table says in which countries they are: then users are where Tor's users are, and all other hosts
where its relays are. Authorities are no part of what is studied, and draw no place: all of them
are at the one from which the farthest relay is nearest, so that votes and descriptors arrive in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torsweep.config.network import AccessDelay
from torsweep.config.traffic import KINDS
from torsweep.errors import InputError
from torsweep.formats.frames import read_arrays
from torsweep.network.exact import (
    Floats,
    conditional_quantile,
    lognormal_table,
    mixed_uniform,
    quantile,
    whole,
)
from torsweep.network.model import CONTINENTS, LATENCY_FLOOR_US, require_matrix, require_round_trips
from torsweep.seeds import stream
from torsweep.storage import whole_file
from torsweep.units import MOST_PLACES, MOST_RTT_US

MODEL_FILE = "latency.npz"
_MEASURED = "measured_us"

_FACTORS = (1e-6, 1e6)
"""Ratios of measured to predicted RTT."""
_MOST_DIMENSIONS = 16
_TYPES = {
    "position_us": "int32",
    "height_us": "int32",
    "region": "int32",
    "correction": "float64",
    "bin_edge_us": "int32",
    "ratio": "float64",
}


@dataclass(frozen=True)
class CoordinateModel:
    """Fitted places and residuals; times in microseconds.

    ``position_us`` (places, dimensions) and ``height_us`` (places,), int32; ``region`` (places,) int32 in
    0 … regions − 1 and ``correction`` (regions, regions) float64, symmetric; ``bin_edge_us`` (bins − 1,)
    int32, ascending, splits predictions into bins; ``ratio`` (bins, points) float64 holds quantiles
    of measured / predicted RTT in each bin.
    """

    position_us: NDArray[np.int32]
    height_us: NDArray[np.int32]
    region: NDArray[np.int32]
    correction: Floats
    bin_edge_us: NDArray[np.int32]
    ratio: Floats

    @property
    def dimensions(self) -> int:
        """Dimensions of the Euclidean part."""
        return self.position_us.shape[1]


@dataclass(frozen=True)
class Whereabouts:
    """Where the places of a table are.

    ``country`` (places, 2) uint8: two letters in ASCII (ISO 3166); ``continent`` (places,) int32: a number in
    :data:`~torsweep.network.model.CONTINENTS`; ``client_share`` and ``relay_share`` (places,) float64: the
    parts of all clients and of all relays that are there, which add up to 1; ``own_share`` the same of groups
    of clients that are elsewhere, by name.
    """

    country: NDArray[np.uint8]
    continent: NDArray[np.int32]
    client_share: Floats
    relay_share: Floats
    own_share: Mapping[str, Floats] = field(default_factory=dict)

    def share(self, kind: str) -> Floats:
        """The part of the hosts of ``kind`` at each place: a kind of user, a group, or other hosts."""
        return self.own_share.get(kind, self.client_share if kind in KINDS else self.relay_share)

    @property
    def codes(self) -> list[str]:
        """The country of each place."""
        return [letters.tobytes().decode() for letters in self.country]

    def named(self, place: int) -> dict[str, str]:
        """Country and continent of ``place``."""
        return {
            "country": self.country[place].tobytes().decode(),
            "continent": CONTINENTS[self.continent[place]],
        }


_WHEREABOUTS = ("country", "continent", "client_share", "relay_share")
"""What a table of latency holds of them."""


def write_model(model: CoordinateModel, path: Path, whereabouts: Whereabouts | None = None) -> None:
    """Write ``model`` to ``path``, and with it where its places are."""
    told = {name: vars(whereabouts)[name] for name in _WHEREABOUTS} if whereabouts else {}
    _write_arrays(path, vars(model) | told)


def write_measured(matrix_us: NDArray[np.int32], path: Path) -> None:
    """Write a measured matrix without gaps, (places, places) microseconds, to ``path``."""
    _write_arrays(path, {_MEASURED: matrix_us})


def _write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_model(path: Path) -> tuple[CoordinateModel, Whereabouts | None]:
    """The model in ``path``, and where its places are; None where it does not say so. InputError when the
    file is damaged or of another kind."""
    arrays = read_arrays(path)
    if "position_us" not in arrays and _MEASURED in arrays:
        raise InputError("holds no coordinate model", file=path, key="latency.use", accepted="direct")
    if "position_us" not in arrays:
        raise InputError("is not a latency table made by torsweep", file=path)
    for name, dtype in _TYPES.items():
        if name not in arrays:
            problem = "is not a whole latency table: an array is missing; import or derive it anew"
            raise InputError(problem, file=path, key=name)
        if arrays[name].dtype != dtype:
            value = str(arrays[name].dtype)
            raise InputError("has another type", file=path, key=name, value=value, accepted=dtype)
    model = CoordinateModel(**{name: arrays[name] for name in _TYPES})
    check_model(model, path)
    if not set(_WHEREABOUTS) <= arrays.keys():
        return model, None
    country, continent, client_share, relay_share = (arrays[name] for name in _WHEREABOUTS)
    return model, Whereabouts(country, continent, client_share, relay_share)


def read_measured(path: Path) -> NDArray[np.int32]:
    """The matrix of RTTs in the imported table ``path``, (places, places) int32 microseconds.

    Raises InputError when the table is a derived one, which holds no measurement, or two places have no RTT.
    """
    arrays = read_arrays(path)
    if _MEASURED not in arrays:
        accepted = "a table made by `torsweep latency import`"
        problem = "holds no measured matrix to draw from directly"
        raise InputError(problem, file=path, key="latency.use", accepted=accepted)
    matrix = arrays[_MEASURED]
    require_matrix(matrix, path, least=2)
    require_round_trips(matrix, path, diagonal=False)
    return matrix


def check_model(model: CoordinateModel, path: Path) -> None:
    """InputError unless the arrays of ``model`` fit each other and every number lies in its range."""
    places = len(model.position_us)
    fits = (
        model.position_us.ndim == 2
        and 1 < places <= MOST_PLACES
        and 0 < model.dimensions <= _MOST_DIMENSIONS
        and model.height_us.shape == (places,)
        and model.region.shape == (places,)
        and int(model.region.min()) >= 0
        and model.correction.shape == (int(model.region.max()) + 1,) * 2
        and model.ratio.ndim == 2
        and len(model.ratio) > 0
        and model.ratio.shape[1] >= 2
        and model.bin_edge_us.shape == (len(model.ratio) - 1,)
    )
    if not fits:
        raise InputError("its arrays do not fit each other", file=path)
    _require(path, "position_us", model.position_us, -MOST_RTT_US, MOST_RTT_US, "µs")
    _require(path, "height_us", model.height_us, 0, MOST_RTT_US, "µs")
    _require(path, "bin_edge_us", model.bin_edge_us, 0, 10 * MOST_RTT_US, "µs")
    _require(path, "ratio", model.ratio, *_FACTORS)
    _require(path, "correction", model.correction, *_FACTORS)
    if (model.correction != model.correction.T).any():
        raise InputError("is not symmetric", file=path, key="correction")
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


def modelled_matrix(model: CoordinateModel, seed: int) -> NDArray[np.int32]:
    """The round trips between the places of ``model``, (places, places) microseconds, drawn for ``seed``."""
    places = len(model.position_us)
    keys = stream(seed, "latency", "places", "keys").integers(0, 2**64, places, dtype=np.uint64)
    matrix = np.empty((places, places), dtype=np.int32)
    step = max(1, BLOCK_CELLS // places)
    for first in range(0, places, step):
        last = min(first + step, places)
        predicted = _predicted(model, first, last)
        bins = np.searchsorted(model.bin_edge_us, predicted)
        draw = mixed_uniform(keys[first:last, None] + keys[None, :])
        rtt_us = whole(np.multiply(predicted, conditional_quantile(model.ratio, bins, draw)))
        matrix[first:last] = np.clip(rtt_us, 1, MOST_RTT_US)
    return with_diagonal(matrix)


def _predicted(model: CoordinateModel, first: int, last: int) -> Floats:
    """Predictions of places ``first`` … ``last`` − 1 and all places, (last − first, places)."""
    # Whole microseconds, so that squares and sums are exact and only the root is rounded.
    squared = np.zeros((last - first, len(model.height_us)), dtype=np.int64)
    for along in model.position_us.T.astype(np.int64):
        difference = along[first:last, None] - along[None, :]
        squared += difference * difference
    heights = model.height_us[first:last, None].astype(np.int64) + model.height_us[None, :]
    corrections = model.correction[model.region[first:last, None], model.region[None, :]]
    return np.multiply(np.add(np.sqrt(squared.astype(np.float64)), heights), corrections)


def with_diagonal(matrix_us: NDArray[np.int32]) -> NDArray[np.int32]:
    """``matrix_us`` (places, places), two or more, with the round trips within a place: the shortest one to
    another place, at least the floor."""
    matrix = np.array(matrix_us)
    np.fill_diagonal(matrix, MOST_RTT_US)
    np.fill_diagonal(matrix, np.maximum(matrix.min(axis=1), LATENCY_FLOOR_US))
    return matrix


PlacesOf = Callable[[str, int], Iterator[dict[str, Any]]]
"""(kind, count) → ``place``, ``access_us`` and, if known, ``country`` and ``continent`` of each host of that
kind, by their keys in network.json."""


def places_of(places: int, delay: AccessDelay, seed: int, whereabouts: Whereabouts | None = None) -> PlacesOf:
    """The place of each host in a network with ``places`` places."""

    def of_kind(kind: str, count: int) -> Iterator[dict[str, Any]]:
        share = whereabouts.share(kind) if whereabouts else None
        columns = host_places(kind, count, places, seed, share), access_round_trips(kind, count, delay, seed)
        for place, access_us in zip(*(values.tolist() for values in columns), strict=True):
            named = whereabouts.named(place) if whereabouts else {}
            yield {"place": place, "access_us": access_us, **named}

    return of_kind


def host_places(
    kind: str, count: int, places: int, seed: int, share: Floats | None = None
) -> NDArray[np.int64]:
    """The places of the hosts of a kind, (count,): each is one of ``places``, all of them alike, or drawn by
    the ``share`` of each, (places,).

    The first hosts of a kind are where they would be without the others.
    """
    drawn = stream(seed, "latency", kind, "place").random(count)
    if share is None:
        return np.floor(drawn * places).astype(np.int64)
    sums = np.cumsum(share)
    return np.searchsorted(sums, drawn * sums[-1], side="right").astype(np.int64)


def central_place(matrix_us: NDArray[np.int32], places: Sequence[int]) -> int:
    """The place from which the farthest of ``places`` is nearest; the first of several."""
    return int(matrix_us[:, np.unique(places)].max(axis=1).argmin())


def access_round_trips(kind: str, count: int, delay: AccessDelay, seed: int) -> NDArray[np.int64]:
    """What the last mile of each host of a kind adds to its RTTs, (count,) microseconds; 0 but for web and
    bulk clients."""
    if kind not in KINDS:
        return np.zeros(count, dtype=np.int64)
    table = np.minimum(lognormal_table(delay.median, delay.sigma), float(delay.maximum))
    one_way_ns = quantile(table, stream(seed, "latency", kind, "access").random(count))
    return whole(one_way_ns * 2 / _NS_PER_US)
