"""The ``planetlab`` latency model: a fit to one matrix, judged on what it has not seen.

In: ``planetlab_rtt_ms_slice{1,9,18}.tsv.xz``, RTTs in milliseconds between 490 hosts. Out:
``planetlab.npz`` (fitted to slice 1) and errors on held-out pairs, held-out hosts and later slices.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np

from torsweep.network.coordinates import CoordinateModel, write_model
from torsweep.network.latency import KINDS, LatencyField, ModelledPairs
from torsweep.network.latency_fit import (
    Coordinates,
    Pairs,
    coordinate_model,
    fit_coordinates,
    measured_pairs,
    model_predictions,
    place_hosts,
    predicted_us,
)
from torsweep.network.matrix_checks import triangle_violations
from torsweep.network.model import LATENCY_FLOOR_US

_LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_HELD_OUT = 0.1
_LANDMARKS = 32
_SEED = 20110101


def derive(data: Path, out: Path) -> dict:
    """Write ``out/planetlab.npz``; errors of the model, and how its networks compare with the matrix."""
    rtt_us = _slice(data, 1)
    pairs = measured_pairs(rtt_us)
    model = coordinate_model(fit_coordinates(rtt_us, pairs), pairs)
    write_model(model, out / "planetlab.npz")
    later = {number: _slice(data, number) for number in (9, 18)}
    return {
        "fitted pairs": _errors(model_predictions(model, pairs), pairs.rtt_us),
        "held-out pairs": _held_out_pairs(rtt_us, pairs),
        "held-out hosts": _held_out_hosts(rtt_us),
        **{
            f"slice {number}": _errors(model_predictions(model, seen), seen.rtt_us)
            for number, matrix in later.items()
            for seen in [measured_pairs(matrix)]
        },
        "RTT ms at " + " ".join(f"p{100 * level:g}" for level in _LEVELS): {
            **{f"slice {number}": _quantiles_ms(matrix) for number, matrix in ((1, rtt_us), *later.items())},
            "generated": _quantiles_ms(_generated(model)),
        },
        "triangle violations": {
            **{f"slice {number}": _violations(matrix) for number, matrix in ((1, rtt_us), *later.items())},
            "generated": _violations(_generated(model)),
        },
    }


def _slice(data: Path, number: int) -> np.ndarray:
    with lzma.open(data / f"planetlab_rtt_ms_slice{number}.tsv.xz", "rt") as file:
        rtt_us = np.loadtxt(file) * 1000
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def _errors(predicted: np.ndarray, measured: np.ndarray) -> dict:
    """Relative and absolute errors of predictions, that is without the drawn factor."""
    relative = np.abs(predicted - measured) / measured
    return {
        "pairs": len(measured),
        "relative error p50": round(float(np.median(relative)), 4),
        "relative error p90": round(float(np.quantile(relative, 0.9)), 4),
        "absolute error p50 ms": round(float(np.median(np.abs(predicted - measured))) / 1000, 2),
    }


def _held_out_pairs(rtt_us: np.ndarray, pairs: Pairs) -> dict:
    held = np.random.default_rng(_SEED).random(len(pairs.rtt_us)) < _HELD_OUT
    hidden = rtt_us.copy()
    hidden[pairs.first[held], pairs.second[held]] = np.nan
    hidden[pairs.second[held], pairs.first[held]] = np.nan
    model = coordinate_model(fit_coordinates(hidden, pairs[~held]), pairs[~held])
    return _errors(model_predictions(model, pairs[held]), pairs.rtt_us[held])


def _held_out_hosts(rtt_us: np.ndarray) -> dict:
    """Hosts the fit has not seen, placed by their RTTs to 32 landmarks, judged on the other hosts.

    A new host belongs to the place of the fitted host nearest to it.
    """
    order = np.random.default_rng(_SEED).permutation(len(rtt_us))
    new, known = np.split(order, [round(_HELD_OUT * len(order))])
    seen = rtt_us[np.ix_(known, known)]
    pairs = measured_pairs(seen)
    fitted = fit_coordinates(seen, pairs)
    model = coordinate_model(fitted, pairs)
    anchors = Coordinates(fitted.position[:_LANDMARKS], fitted.height[:_LANDMARKS])
    placed = place_hosts(anchors, rtt_us[np.ix_(new, known[:_LANDMARKS])])
    apart = ((placed.position[:, None] - fitted.position[None]) ** 2).sum(axis=2)
    both = Coordinates(
        np.concatenate([placed.position, fitted.position]), np.concatenate([placed.height, fitted.height])
    )
    place = np.concatenate([model.place[apart.argmin(axis=1)], model.place])
    first, second = np.meshgrid(np.arange(len(new)), np.arange(_LANDMARKS, len(known)), indexing="ij")
    measured = rtt_us[np.ix_(new, known[_LANDMARKS:])].ravel()
    judged = Pairs(first.ravel(), second.ravel() + len(new), measured)
    return _errors(predicted_us(both, place, model.correction, judged), measured)


def _generated(model: CoordinateModel) -> np.ndarray:
    """RTTs between as many generated hosts as were measured."""
    counts = dict.fromkeys(KINDS, 0) | {"relay": len(model.place)}
    field = LatencyField(ModelledPairs(model, counts, seed=1), np.zeros(len(model.place), dtype=np.int64))
    rtt_us = np.concatenate(list(field.blocks())).astype(float)
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def _quantiles_ms(rtt_us: np.ndarray) -> list[float]:
    values = rtt_us[np.triu_indices(len(rtt_us), 1)] / 1000
    return [round(float(value), 1) for value in np.quantile(values, _LEVELS)]


def _violations(rtt_us: np.ndarray) -> dict:
    found = triangle_violations(np.maximum(rtt_us, LATENCY_FLOOR_US))
    return {"of inequalities": round(found.of_inequalities, 4), "of triangles": round(found.of_triangles, 4)}
