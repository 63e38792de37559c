"""What a picture of a network shows, as numbers.

In: a network and its latencies. Out: :class:`NetworkPicture`: places on a plane, relays at them, the pairs
of relays that most circuits use, and the distributions of bandwidths and round trips.

The plane is that of classical scaling (Torgerson, Psychometrika 17, 1952): of all planes onto which the
distances, which are round trips between places, can be projected, it keeps most of their squares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy.linalg
from numpy.typing import NDArray
from scipy.stats import spearmanr

from torsweep.config.traffic import KINDS
from torsweep.network.describe import rtt_samples_ms
from torsweep.network.exact import Floats
from torsweep.network.model import Latencies, Network
from torsweep.network.path_chances import PathChances, path_chances

PICTURE_SIGNATURE = "torsweep-network-picture"
"""Stands in each file of a picture, as the name of what made it."""

BUSIEST_PAIRS = 30
"""Pairs of relays that are drawn, of guards and middles, and of middles and exits."""
_BUSIEST_RELAYS = 100
"""Relays of a hop among which the busiest pairs are looked for."""

MOST_DRAWN = 1_500
"""Places that are drawn: the time of scaling grows with their cube."""

_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
_SPIRAL_STEP = 0.012
"""How far the second relay of a place stands from its middle, of the width of the map."""

_LONGEST = 0.99
"""Round trips of places count as at most this quantile of them: with seconds in their squares, a few pairs
would decide where all places are."""

_OUTSIDE = 0.02
"""The share of places, at either end of an axis, that a map need not show."""

_LEVELS = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class NetworkPicture:
    """The frames of a picture; ``x_ms`` and ``y_ms`` are coordinates on the plane.

    ``places`` (x_ms, y_ms), those drawn of ``all_places``; ``relays`` (name, position, usable_mbit_per_s,
    capacity_share, x_ms, y_ms), the fastest first; ``pairs`` (hop, x_ms, y_ms, to_x_ms, to_y_ms, share), of
    circuits, the rarest first; ``curves`` (panel, what, value, share), of hosts and of pairs of hosts.
    ``view_ms`` has the lowest and the highest coordinates that are drawn. ``likeness`` is the rank
    correlation of distances on the plane with the round trips of the places drawn; ``drawn_share`` says by
    hop which share of circuits has one of the drawn pairs.
    """

    places: pl.DataFrame
    all_places: int
    relays: pl.DataFrame
    pairs: pl.DataFrame
    curves: pl.DataFrame
    view_ms: tuple[Floats, Floats]
    likeness: float
    drawn_share: Mapping[str, float]


def picture_of(network: Network, latencies: Latencies, most_places: int = MOST_DRAWN) -> NetworkPicture:
    """What a picture of ``network`` shows, with ``most_places`` of the places at most."""
    relay_at = latencies.place[: len(network.relays)]
    drawn = _drawn(latencies, most_places)
    drawn_us = latencies.matrix_us[np.ix_(drawn, drawn)]
    others = np.setdiff1d(relay_at, drawn)
    found_ms = plane(drawn_us, latencies.matrix_us[np.ix_(others, drawn)])
    plane_ms = found_ms[: len(drawn)]
    row = np.empty(len(latencies.matrix_us), dtype=np.intp)
    row[np.concatenate([drawn, others])] = np.arange(len(found_ms))
    usable = np.array([relay.usable_bytes_per_s for relay in network.relays])
    at_ms = found_ms[row[relay_at]] + _beside_each_other(relay_at, usable, np.ptp(plane_ms, axis=0).max())
    relays = pl.DataFrame(
        {
            "name": [relay.name for relay in network.relays],
            "position": [relay.position for relay in network.relays],
            "usable_mbit_per_s": usable / 125_000,
            "capacity_share": usable / usable.sum(),
            "x_ms": at_ms[:, 0],
            "y_ms": at_ms[:, 1],
        }
    ).sort("usable_mbit_per_s", descending=True, maintain_order=True)
    places = pl.DataFrame(plane_ms, schema=("x_ms", "y_ms"))
    chances = path_chances(network)
    pairs = _pairs(chances, at_ms) if chances is not None else _pairs_frame([])
    shares = dict(pairs.group_by("hop", maintain_order=True).agg(pl.col("share").sum()).iter_rows())
    curves = pl.DataFrame(
        _curves(network, latencies), schema=("panel", "what", "value", "share"), orient="row"
    )
    view_ms = _view(plane_ms, at_ms)
    likeness = _likeness(plane_ms, drawn_us)
    return NetworkPicture(places, len(row), relays, pairs, curves, view_ms, likeness, shares)


def _drawn(latencies: Latencies, most: int) -> NDArray[np.intp]:
    """The places that are drawn, in order: at most ``most``, those with hosts before others."""
    occupied = np.bincount(latencies.place, minlength=len(latencies.matrix_us)) > 0
    with_hosts = _every_so_many(np.flatnonzero(occupied), most)
    without = _every_so_many(np.flatnonzero(~occupied), most - len(with_hosts))
    return np.sort(np.concatenate([with_hosts, without]))


def _every_so_many(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most ``most`` of ``places``, evenly from the first to the last."""
    count = min(most, len(places))
    return places[np.arange(count) * len(places) // max(count, 1)]


def plane(matrix_us: NDArray[np.int32], others_us: NDArray[np.int32]) -> Floats:
    """The places of ``matrix_us`` (places, places) on a plane by classical scaling, (places, 2) in ms, and
    after them the others of ``others_us`` (others, places), which stand where their round trips to these
    places put them (de Silva and Tenenbaum, Sparse multidimensional scaling using landmark points, 2004).

    Round trips above a quantile of :data:`_LONGEST` count as that. The place that is farthest out along an
    axis has a positive coordinate there, so that a map is drawn the same way round each time.
    """
    longest_us = np.quantile(_pairs_of(matrix_us), _LONGEST)
    squares, others = (np.square(np.minimum(us, longest_us) / 1000) for us in (matrix_us, others_us))
    np.fill_diagonal(squares, 0)
    of_place = squares.mean(axis=0)
    products = (of_place[:, None] + of_place - squares - of_place.mean()) / 2
    places = len(products)
    values, vectors = scipy.linalg.eigh(products, subset_by_index=(places - 2, places - 1))
    axes = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    outermost = axes[np.abs(axes).argmax(axis=0), (0, 1)]
    axes *= np.where(outermost < 0, -1, 1)
    lengths = np.square(axes).sum(axis=0)
    along = np.divide(axes, lengths, out=np.zeros_like(axes), where=lengths > 0)
    return np.concatenate([axes, (of_place - others) / 2 @ along])


def _view(plane_ms: Floats, at_ms: Floats) -> tuple[Floats, Floats]:
    """The corners of a map with all relays and all places but those farthest out."""
    inner = np.quantile(plane_ms, (_OUTSIDE, 1 - _OUTSIDE), axis=0)
    shown = np.concatenate([inner, at_ms])
    return shown.min(axis=0), shown.max(axis=0)


def _likeness(plane_ms: Floats, matrix_us: NDArray[np.int32]) -> float:
    apart_ms = np.hypot(*np.moveaxis(plane_ms[:, None] - plane_ms, 2, 0))
    return float(spearmanr(_pairs_of(apart_ms), _pairs_of(np.asarray(matrix_us))).statistic)


def _pairs_of(matrix: NDArray) -> NDArray:
    """The cells of two different places, each pair once."""
    return matrix[np.triu_indices(len(matrix), 1)]


def _beside_each_other(place: NDArray[np.integer], usable: NDArray[np.integer], width: float) -> Floats:
    """How far from its place each relay stands, (relays, 2): on a spiral around the fastest of the place."""
    order = np.lexsort((-usable, place))
    sorted_places = place[order]
    first = np.flatnonzero(np.diff(sorted_places, prepend=-1))
    number = np.empty(len(place), dtype=np.int64)
    number[order] = np.arange(len(place)) - np.repeat(first, np.diff(first, append=len(place)))
    angle, out = number * _GOLDEN_ANGLE, np.sqrt(number) * _SPIRAL_STEP * width
    return np.stack([out * np.cos(angle), out * np.sin(angle)], axis=1)


def _pairs(chances: PathChances, at_ms: Floats) -> pl.DataFrame:
    guards, middles, exits = (
        np.argsort(-chance, kind="stable")[:_BUSIEST_RELAYS]
        for chance in (chances.guard, chances.middle, chances.exit)
    )
    rows = [
        ("guard_middle", *at_ms[one], *at_ms[other], share)
        for one, other, share in _busiest(guards, middles, chances.guard_then_middle(guards, middles))
    ]
    rows += [
        ("middle_exit", *at_ms[one], *at_ms[other], share)
        for one, other, share in _busiest(middles, exits, chances.middle_then_exit(middles, exits))
    ]
    return _pairs_frame(rows)


def _busiest(
    ones: NDArray[np.intp], others: NDArray[np.intp], share: Floats
) -> Iterator[tuple[int, int, float]]:
    for cell in np.argsort(-share, axis=None, kind="stable")[:BUSIEST_PAIRS]:
        one, other = np.unravel_index(cell, share.shape)
        if share[one, other] > 0:
            yield int(ones[one]), int(others[other]), float(share[one, other])


def _pairs_frame(rows: list[tuple[str, float, float, float, float, float]]) -> pl.DataFrame:
    numbers = dict.fromkeys(("x_ms", "y_ms", "to_x_ms", "to_y_ms", "share"), pl.Float64)
    frame = pl.DataFrame(rows, schema={"hop": pl.String, **numbers}, orient="row")
    return frame.sort("share", maintain_order=True)


def _curves(network: Network, latencies: Latencies) -> Iterator[tuple[str, str, float, float]]:
    """Points of the distributions, an ascending value a level."""
    clients = [client for kind in KINDS for client in network.clients_of(kind)]
    bytes_per_s = {
        "relays": [relay.usable_bytes_per_s for relay in network.relays],
        "clients, down": [client.down_bytes_per_s for client in clients],
        "clients, up": [client.up_bytes_per_s for client in clients],
    }
    panels = {
        "bandwidth": {what: np.array(rates) / 125_000 for what, rates in bytes_per_s.items()},
        "round trip": rtt_samples_ms(network, latencies),
    }
    for panel, samples in panels.items():
        for what, values in samples.items():
            if len(values):
                points = np.quantile(values, _LEVELS, method="inverted_cdf")
                for level, value in zip(_LEVELS, points, strict=True):
                    yield panel, what, float(value), float(level)
