"""The ``planetlab`` latency model: a fit to one matrix, judged on what it has not seen.

In: ``planetlab_rtt_ms_slice{1,9,18}.tsv.xz``, RTTs in milliseconds between 490 hosts. Out:
``planetlab.npz`` (fitted to slice 1) and errors on held-out pairs, held-out hosts and later slices.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np

from torsweep.network.coordinates import write_model
from torsweep.network.latency_fit import (
    Coordinates,
    Pairs,
    coordinate_model,
    fit_coordinates,
    measured_pairs,
    place_hosts,
)

_HELD_OUT = 0.1
_LANDMARKS = 32
_SEED = 20110101


def derive(data: Path, out: Path) -> dict:
    """Write ``out/planetlab.npz``; the held-out errors."""
    rtt_us = _slice(data, 1)
    pairs = measured_pairs(rtt_us)
    coordinates = fit_coordinates(rtt_us, pairs)
    write_model(coordinate_model(coordinates, pairs), out / "planetlab.npz")
    later = {f"slice {number}": measured_pairs(_slice(data, number)) for number in (9, 18)}
    return {
        "fitted pairs": _errors(coordinates, pairs),
        "held-out pairs": _held_out_pairs(rtt_us, pairs),
        "held-out hosts": _held_out_hosts(rtt_us),
        **{name: _errors(coordinates, seen) for name, seen in later.items()},
    }


def _slice(data: Path, number: int) -> np.ndarray:
    with lzma.open(data / f"planetlab_rtt_ms_slice{number}.tsv.xz", "rt") as file:
        rtt_us = np.loadtxt(file) * 1000
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def _errors(coordinates: Coordinates, pairs: Pairs) -> dict:
    """Relative and absolute errors of the coordinates alone, without the drawn residual."""
    predicted = coordinates.predicted(pairs.first, pairs.second)
    relative = np.abs(predicted - pairs.rtt_us) / pairs.rtt_us
    absolute_ms = np.abs(predicted - pairs.rtt_us) / 1000
    return {
        "pairs": len(pairs.rtt_us),
        "relative error p50": round(float(np.median(relative)), 4),
        "relative error p90": round(float(np.quantile(relative, 0.9)), 4),
        "absolute error p50 ms": round(float(np.median(absolute_ms)), 2),
    }


def _held_out_pairs(rtt_us: np.ndarray, pairs: Pairs) -> dict:
    held = np.random.default_rng(_SEED).random(len(pairs.rtt_us)) < _HELD_OUT
    hidden = rtt_us.copy()
    hidden[pairs.first[held], pairs.second[held]] = np.nan
    hidden[pairs.second[held], pairs.first[held]] = np.nan
    return _errors(fit_coordinates(hidden, pairs[~held]), pairs[held])


def _held_out_hosts(rtt_us: np.ndarray) -> dict:
    """Hosts the fit has not seen, placed by their RTTs to 32 landmarks, judged on the other hosts."""
    order = np.random.default_rng(_SEED).permutation(len(rtt_us))
    new, known = np.split(order, [round(_HELD_OUT * len(order))])
    seen = rtt_us[np.ix_(known, known)]
    fitted = fit_coordinates(seen, measured_pairs(seen))
    landmarks = np.arange(_LANDMARKS)
    anchors = Coordinates(fitted.position[landmarks], fitted.height[landmarks])
    placed = place_hosts(anchors, rtt_us[np.ix_(new, known[landmarks])])
    both = Coordinates(
        np.concatenate([placed.position, fitted.position]), np.concatenate([placed.height, fitted.height])
    )
    first, second = np.meshgrid(np.arange(len(new)), np.arange(_LANDMARKS, len(known)), indexing="ij")
    measured = rtt_us[np.ix_(new, known[_LANDMARKS:])]
    return _errors(both, Pairs(first.ravel(), second.ravel() + len(new), measured.ravel()))
