"""The stair-step statistic: found where there is one, silent where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.refill_sweep.stairs import PRONOUNCED_DEPTH, stair_depth, stairs

COUNT = 10_000


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(5)


def _steps(generator: np.random.Generator, within_s: float, count: int = COUNT) -> np.ndarray:
    """A geometric number of whole seconds, and a wait that is short against a second."""
    return 0.2 + generator.uniform(0, within_s, count) + generator.geometric(0.5, count)


@pytest.mark.parametrize("within_s", [0.1, 0.3, 0.5, 0.7])
def test_steps_of_a_second_are_seen_at_a_second(generator, within_s):
    found = stairs(_steps(generator, within_s), 1.0, generator)
    assert found.depth > PRONOUNCED_DEPTH
    assert found.above_smooth


def test_the_depth_of_a_square_wave(generator):
    """Density on for half of each period: twice the mean, then nothing, so the deviation is ±1."""
    assert stair_depth(_steps(generator, 0.5, 100_000), 1.0) == pytest.approx(1.0, abs=0.02)


def test_the_depth_of_a_sine(generator):
    """Relative amplitude a has depth a / √2; a = ½ is the edge of the visible."""
    times = generator.uniform(0, 40, 600_000)
    kept = times[generator.random(len(times)) < (1 + 0.5 * np.sin(2 * np.pi * times)) / 1.5]
    assert stair_depth(kept, 1.0) == pytest.approx(PRONOUNCED_DEPTH, abs=0.02)


@pytest.mark.parametrize("period_s", [1.0, 0.1, 0.01])
@pytest.mark.parametrize(("median_s", "sigma"), [(0.3, 0.1), (0.3, 0.5), (0.9, 0.3), (1.5, 0.8)])
def test_smooth_times_have_no_steps(generator, median_s, sigma, period_s):
    assert stair_depth(generator.lognormal(np.log(median_s), sigma, COUNT), period_s) < 0.15


def test_one_narrow_peak_is_no_stair(generator):
    """It has one phase modulo the period, which a resultant length would take for a step."""
    times = generator.normal(0.3, 0.02, COUNT)
    assert abs(np.exp(2j * np.pi * times).mean()) > 0.9
    assert stair_depth(times, 1.0) < PRONOUNCED_DEPTH


def test_a_peak_with_a_smooth_tail_is_no_stair(generator):
    peak, tail = generator.normal(0.3, 0.02, COUNT), 0.3 + generator.exponential(1, COUNT // 4)
    assert stair_depth(np.concatenate([peak, tail]), 1.0) < PRONOUNCED_DEPTH


def test_two_peaks_at_another_distance_are_no_stair(generator):
    peaks = np.where(generator.random(COUNT) < 0.7, 0.3, 1.0) + generator.normal(0, 0.04, COUNT)
    assert stair_depth(peaks, 1.0) < PRONOUNCED_DEPTH


def test_stairs_in_the_tail_are_seen_behind_a_smooth_front(generator):
    front = generator.lognormal(np.log(0.4), 0.4, COUNT * 8 // 10)
    assert stair_depth(np.concatenate([front, _steps(generator, 0.3, COUNT // 5)]), 1.0) > PRONOUNCED_DEPTH


def test_a_wait_spread_over_the_whole_period_leaves_no_step(generator):
    assert abs(stair_depth(_steps(generator, 1.0), 1.0)) < 0.15


def test_too_few_times_have_no_depth(generator):
    assert np.isnan(stair_depth(np.arange(50.0), 1.0))
    assert not stairs(np.arange(50.0), 1.0, generator).above_smooth


def test_thin_counts_have_no_depth(generator):
    """A few hundred times over thousands of bins: the statistic would be noise as deep as a step."""
    times = generator.lognormal(1, 0.5, 300)
    assert np.isnan(stair_depth(times, 0.01))
    assert np.isfinite(stair_depth(times, 1.0))
