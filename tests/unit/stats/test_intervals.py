"""Intervals over networks and corrections for many comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from torsweep.stats.inference.intervals import (
    bands,
    bonferroni,
    log_interval,
    t_interval,
    welch_interval,
)
from torsweep.stats.text import percent_text


@pytest.mark.parametrize("networks", [4, 8, 32])
@pytest.mark.parametrize("degrees", [np.inf, 5.0])
def test_the_interval_covers_as_often_as_it_says(networks: int, degrees: float) -> None:
    """Within a point, normal values or some that stray farther (Student's t)."""
    generator, shape = np.random.default_rng(3), (networks, 20_000)
    samples = 1 + 2 * (generator.normal(size=shape) if degrees == np.inf else generator.standard_t(5, shape))
    _, low, high = bands(samples)
    assert ((low < 1) & (high > 1)).mean() == pytest.approx(0.95, abs=0.01)


def test_the_band_is_that_of_tornettools() -> None:
    """What tornettools' own code (plot_common.py at 18486911) says of these five runs at six quantiles."""
    run, point = np.indices((5, 6))
    mean, low, high = bands(1 + 0.25 * run + 0.5 * point + 0.125 * ((3 * run + 2 * point) % 5))
    np.testing.assert_allclose(mean, [1.75, 2.25, 2.75, 3.25, 3.75, 4.25], rtol=1e-14)
    theirs = [1.1007183539477703, 1.6007183539477703, 2.32494538708859, 2.701256854321823]
    np.testing.assert_allclose(low[:4], theirs, rtol=1e-14)
    theirs = [2.3992816460522297, 2.8992816460522297, 3.17505461291141, 3.798743145678177]
    np.testing.assert_allclose(high[:4], theirs, rtol=1e-14)


def test_scipy_agrees() -> None:
    values = np.random.default_rng(4).normal(0.3, 1, 8)
    expected = stats.ttest_1samp(values, 0)
    interval = expected.confidence_interval(0.9)
    ours = t_interval(values, 0.9)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(
    ("values", "confidence", "mean", "bounds"),
    [
        ([2.0], 0.95, 2.0, None),
        ([1.0, np.nan, 2.0], 0.95, np.nan, None),
        ([], 0.95, np.nan, None),
        ([0.0] * 5, 0.95, 0.0, None),
        ([0.0] * 6, 0.95, 0.0, (0.0, 0.0)),
        ([0.0] * 6, 0.99, 0.0, None),
    ],
    ids=["one network", "one without a value", "none", "five alike", "six alike", "six at 99 %"],
)
def test_where_there_is_no_spread_to_go_by(values, confidence, mean, bounds) -> None:
    interval = t_interval(values, confidence)
    assert interval.mean == pytest.approx(mean, nan_ok=True) and interval.networks == len(values)
    assert (interval.low, interval.high) == (bounds or pytest.approx((np.nan, np.nan), nan_ok=True))


def test_bonferroni_splits_the_error() -> None:
    assert bonferroni(0.95, 5) == pytest.approx(0.99)
    assert bonferroni(0.95, 0) == pytest.approx(0.95)


def test_independent_samples_have_the_interval_of_welch() -> None:
    """As scipy has it."""
    one, other = [3.0, 5.0, 7.0, 5.0], [6.0, 9.0, 8.0, 12.0, 7.0, 6.5]
    theirs = stats.ttest_ind(other, one, equal_var=False).confidence_interval(0.975)
    interval = welch_interval([one, other], [-1, 1], 0.975)
    assert interval.mean == pytest.approx(np.mean(other) - 5)
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high))
    assert interval.networks == 10


@pytest.mark.parametrize("other", [[6.0], [5.0, 5.0], [5.0, np.nan], []])
def test_samples_that_give_no_interval_of_welch(other: list[float]) -> None:
    """One network, no spread, a network without a value, none at all."""
    assert not welch_interval([[5.0, 5.0], other], [-1, 1]).known


def test_times_have_intervals_of_logarithms_and_few_networks_no_bands() -> None:
    """Two networks whose t-interval of seconds would begin far below 0."""
    interval = log_interval([1.0, 4.0])
    assert interval.mean == pytest.approx(2.0)
    assert 0 < interval.low < 1 < 4 < interval.high
    assert not log_interval([1.0, np.nan]).known
    values = np.array([[1.0, 5.0], [3.0, 2.0], [2.0, 2.0]])
    mean, low, high = bands(values)
    assert (mean.tolist(), low.tolist(), high.tolist()) == ([2.0, 3.0], [1.0, 2.0], [3.0, 5.0])
    assert bands(np.vstack([values, values[0]]))[1][0] < 1.0
    assert percent_text(2.8e24) == "over 1,000 %"
