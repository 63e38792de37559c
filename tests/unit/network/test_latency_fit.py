"""The fit behind the latency model, on matrices whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from coordinate_fit import (
    Coordinates,
    Pairs,
    coordinate_model,
    fit_coordinates,
    measured_pairs,
    model_predictions,
)
from latency_statistics import generated, triangle_violations
from measured_latency import place_hosts

from torsweep.network.exact import Floats
from torsweep.network.latency_import import summarise


@pytest.fixture(scope="module")
def truth() -> tuple[Coordinates, Floats]:
    """Sixty hosts in three dimensions with heights, and their exact RTTs in microseconds."""
    random = np.random.default_rng(8)
    hosts = Coordinates(random.uniform(0, 100_000, (60, 3)), random.uniform(1_000, 8_000, 60))
    first, second = np.meshgrid(np.arange(60), np.arange(60), indexing="ij")
    rtt_us = hosts.predicted(first.ravel(), second.ravel()).reshape(60, 60)
    np.fill_diagonal(rtt_us, np.nan)
    return hosts, rtt_us


def test_a_matrix_of_coordinates_is_found_again(truth: tuple[Coordinates, Floats]) -> None:
    _, rtt_us = truth
    pairs = measured_pairs(rtt_us)
    held = np.random.default_rng(1).random(len(pairs.rtt_us)) < 0.1
    hidden = rtt_us.copy()
    hidden[pairs.first[held], pairs.second[held]] = np.nan
    hidden[pairs.second[held], pairs.first[held]] = np.nan
    fitted = fit_coordinates(hidden, pairs[~held], dimensions=3)
    predicted = fitted.predicted(pairs[held].first, pairs[held].second)
    assert np.median(np.abs(predicted / pairs.rtt_us[held] - 1)) < 0.01


def test_new_hosts_are_placed_by_landmarks(truth: tuple[Coordinates, Floats]) -> None:
    hosts, rtt_us = truth
    landmarks = Coordinates(hosts.position[:20], hosts.height[:20])
    placed = place_hosts(landmarks, rtt_us[20:24, :20])
    assert placed.position == pytest.approx(hosts.position[20:24], abs=3_000)


def test_corrections_remove_what_places_share(truth: tuple[Coordinates, Floats]) -> None:
    hosts, rtt_us = truth
    side = hosts.position[:, 0] > 50_000
    across = side[:, None] != side[None]
    detoured = np.where(across, rtt_us * 1.3, rtt_us)
    pairs = measured_pairs(detoured)
    model = coordinate_model(hosts, pairs)
    plain = np.abs(np.log(hosts.predicted(pairs.first, pairs.second) / pairs.rtt_us)).mean()
    corrected = np.abs(np.log(model_predictions(model, pairs) / pairs.rtt_us)).mean()
    assert corrected < 0.8 * plain
    assert (model.correction == model.correction.T).all()
    assert np.nanmedian(generated(model, 90)) == pytest.approx(np.nanmedian(detoured), rel=0.2)


def test_gaps_do_not_count() -> None:
    rtt_us = np.array([[np.nan, 10.0, np.nan], [10.0, np.nan, 0.0], [np.nan, 0.0, np.nan]])
    pairs = measured_pairs(rtt_us)
    assert isinstance(pairs, Pairs)
    assert pairs.rtt_us.tolist() == [10.0]


def test_violations_are_counted_by_inequality_and_by_triangle() -> None:
    flat = np.array([[np.nan, 10, 30], [10, np.nan, 10], [30, 10, np.nan]])
    assert triangle_violations(flat) == pytest.approx((1 / 3, 1.0))
    fair = np.array([[np.nan, 10, 10], [10, np.nan, 10], [10, 10, np.nan]])
    assert triangle_violations(fair) == (0.0, 0.0)


def test_asymmetry_and_gaps_are_counted() -> None:
    rtt_us = np.array([[np.nan, 90_000, np.nan], [110_000, np.nan, 50_000], [np.nan, 50_000, np.nan]])
    found = summarise(rtt_us)
    assert found.asymmetry == pytest.approx(0.1)
    assert found.missing == pytest.approx(1 / 3)
    assert found.median_rtt_us == 70_000
