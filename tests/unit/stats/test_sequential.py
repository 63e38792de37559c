"""Looks at a growing number of networks: the bounds, and what the intervals cover."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from torsweep.stats.inference.interim import (
    FIXED,
    Design,
    confidences,
    normal_bounds,
)
from torsweep.stats.inference.intervals import median_interval, t_interval

FIFTHS = np.arange(1, 6) / 5
LOOKS = tuple(range(8, 65, 8))
GROWN = Design(LOOKS, tuple(looks / LOOKS[-1] for looks in LOOKS))


def _published(spent: np.ndarray) -> np.ndarray:
    return normal_bounds(FIFTHS, np.diff(spent, prepend=0.0))


def test_the_bounds_are_those_in_print() -> None:
    """Five looks, two-sided 5 %, with a spending function of Lan and DeMets.

    Jennison and Turnbull, Group Sequential Methods (2000), chapter 7, print them to two or three digits.
    """
    pocock = 0.05 * np.log(1 + (np.e - 1) * FIFTHS)
    np.testing.assert_allclose(_published(pocock), [2.438, 2.427, 2.410, 2.397, 2.386], atol=6e-4)


def test_a_single_look_is_an_ordinary_interval() -> None:
    values = np.random.default_rng(1).normal(size=8)
    assert Design((8,), (1.0,)).interval(values, 0.95).low == pytest.approx(t_interval(values).low)
    assert FIXED.interval(values, 0.9) == t_interval(values, 0.9)


@pytest.mark.parametrize(("confidence", "straying"), [(0.9, 0), (0.95, 0), (0.99375, 0), (0.95, 5)])
def test_all_looks_together_cover_as_often_as_one_says(confidence: float, straying: int) -> None:
    """Normal values, or some that stray farther (Student's t of so many degrees)."""
    generator, shape = np.random.default_rng(2), (20_000, LOOKS[-1])
    values = generator.standard_t(straying, shape) if straying else generator.normal(size=shape)
    levels = confidences(LOOKS, GROWN.spent, confidence)
    covered = np.ones(len(values), dtype=bool)
    for networks, level in zip(LOOKS, levels, strict=True):
        chosen = values[:, :networks]
        error = chosen.std(axis=1, ddof=1) / np.sqrt(networks)
        covered &= np.abs(chosen.mean(axis=1)) < stats.t.ppf((1 + level) / 2, networks - 1) * error
    assert covered.mean() == pytest.approx(confidence, abs=0.006)


def test_what_one_look_has_decided_no_later_one_takes_back() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        values, design = generator.normal(0.4, 1, LOOKS[-1]), GROWN
        intervals = [design.interval(values[:count], 0.95) for count in LOOKS]
        assert all(a.low <= b.low and b.high <= a.high for a, b in pairwise(intervals))


def test_looks_that_contradict_one_another_leave_the_last() -> None:
    values = np.concatenate([np.linspace(100, 101, 8), np.linspace(-1, 1, 56) - 15])
    interval = GROWN.interval(values, 0.95)
    assert interval.low < values.mean() < interval.high


def test_a_network_without_a_value_leaves_no_interval_at_any_look() -> None:
    values = np.concatenate([np.random.default_rng(4).normal(size=15), [np.nan]])
    assert not GROWN.interval(values, 0.95).known


def test_the_median_is_enclosed_as_often_as_it_says() -> None:
    """Ten values: the second from either end, which miss with a probability of 22 / 1024."""
    values = np.random.default_rng(5).exponential(size=(4_000, 10))
    intervals = [median_interval(row) for row in values]
    np.testing.assert_array_equal([i.low for i in intervals], np.sort(values)[:, 1])
    inside = np.mean([i.low < np.log(2) < i.high for i in intervals])
    assert inside == pytest.approx(1 - 22 / 1024, abs=0.008)


def test_five_networks_do_not_enclose_a_median() -> None:
    assert not median_interval([6.0] * 5).known
    assert (median_interval([6.0] * 6).low, median_interval([6.0] * 6).high) == (6, 6)
    assert np.isnan(median_interval([6.0] * 5 + [np.nan]).mean)
    assert median_interval([]).networks == 0
