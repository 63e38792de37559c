"""Latency models fitted to one measured matrix, judged on what the fit has not seen.

In: a symmetric matrix of RTTs in microseconds, NaN where nothing was measured, and the same hosts at
other times. Out: the model's npz file; errors on held-out pairs, held-out hosts and the other times, and
how generated networks compare with the matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from coordinate_fit import (
    HUBER_WIDTH,
    SHORTEST_US,
    UNIT_US,
    Coordinates,
    Pairs,
    coordinate_model,
    fit_coordinates,
    measured_pairs,
    model_predictions,
    predicted_us,
)
from latency_statistics import (
    DECILES,
    QUANTILES,
    between_places,
    decile_errors,
    detour_shares,
    errors,
    quantiles_ms,
    violations,
)
from scipy.optimize import minimize

from torsweep.network.exact import Floats
from torsweep.network.latency import Whereabouts, write_model

_HELD_OUT = 0.1
_LANDMARKS = 32
_SEED = 20110101
_NETWORK_SEED = 1


def derive_measured(
    rtt_us: Floats, name: str, later: Mapping[str, Floats], out: Path, whereabouts: Whereabouts | None = None
) -> dict:
    """Write the model of ``rtt_us``, called ``name`` in the result, to ``out``; errors of the model.

    ``later`` holds matrices of the same hosts that the model is judged on too; ``whereabouts`` says where
    they are.
    """
    pairs = measured_pairs(rtt_us)
    model = coordinate_model(fit_coordinates(rtt_us, pairs), pairs)
    write_model(model, out, whereabouts=whereabouts)
    predicted = model_predictions(model, pairs)
    tables = {name: rtt_us, **later, "generated": between_places(model, _NETWORK_SEED)}
    return {
        "fitted pairs": errors(predicted, pairs.rtt_us),
        DECILES: decile_errors(predicted, pairs.rtt_us),
        "held-out pairs": _held_out_pairs(rtt_us, pairs),
        "held-out hosts": _held_out_hosts(rtt_us),
        **{
            moment: errors(model_predictions(model, seen), seen.rtt_us)
            for moment, matrix in later.items()
            for seen in [measured_pairs(matrix)]
        },
        QUANTILES: {table: quantiles_ms(matrix) for table, matrix in tables.items()},
        "triangle violations": {table: violations(matrix) for table, matrix in tables.items()},
        "detours": {table: detour_shares(matrix) for table, matrix in tables.items()},
    }


def _held_out_pairs(rtt_us: Floats, pairs: Pairs) -> dict:
    held = np.random.default_rng(_SEED).random(len(pairs.rtt_us)) < _HELD_OUT
    hidden = rtt_us.copy()
    hidden[pairs.first[held], pairs.second[held]] = np.nan
    hidden[pairs.second[held], pairs.first[held]] = np.nan
    model = coordinate_model(fit_coordinates(hidden, pairs[~held]), pairs[~held])
    return errors(model_predictions(model, pairs[held]), pairs.rtt_us[held])


def _held_out_hosts(rtt_us: Floats) -> dict:
    """Hosts the fit has not seen, placed by their RTTs to 32 landmarks, judged on the other hosts.

    A new host belongs to the region of the fitted host nearest to it.
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
    region = np.concatenate([model.region[apart.argmin(axis=1)], model.region])
    first, second = np.meshgrid(np.arange(len(new)), np.arange(_LANDMARKS, len(known)), indexing="ij")
    measured = rtt_us[np.ix_(new, known[_LANDMARKS:])].ravel()
    judged = Pairs(first.ravel(), second.ravel() + len(new), measured)[np.isfinite(measured)]
    return errors(predicted_us(both, region, model.correction, judged), judged.rtt_us)


def place_hosts(placed: Coordinates, rtt_us: Floats) -> Coordinates:
    """Coordinates for new hosts, from RTTs (new, landmarks) to ``placed`` landmarks, which do not move."""
    dimensions = placed.position.shape[1]
    solutions = []
    for row in rtt_us:
        known = np.isfinite(row) & (row > 0)
        nearest = np.nanargmin(np.where(known, row, np.nan))
        start = np.append(placed.position[nearest] / UNIT_US + 0.1, np.log(1_000.0))
        landmarks = Coordinates(placed.position[known], placed.height[known])
        solutions.append(minimize(_placing_loss, start, args=(landmarks, row[known]), method="L-BFGS-B").x)
    solved = np.array(solutions)
    return Coordinates(solved[:, :dimensions] * UNIT_US, np.exp(np.clip(solved[:, dimensions], -20, 15)))


def _placing_loss(parameters: Floats, landmarks: Coordinates, rtt_us: Floats) -> float:
    apart = np.sqrt(((landmarks.position - parameters[:-1] * UNIT_US) ** 2).sum(axis=1))
    predicted = apart + landmarks.height + np.exp(np.clip(parameters[-1], -20, 15))
    error = np.log((predicted + SHORTEST_US) / (rtt_us + SHORTEST_US))
    return float((HUBER_WIDTH**2 * (np.sqrt(1 + (error / HUBER_WIDTH) ** 2) - 1)).sum())
