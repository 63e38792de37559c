"""How many networks would say more."""

from __future__ import annotations

import numpy as np
import pytest

from torsweep.stats.claims.judging import UNCLEAR, Question
from torsweep.stats.inference.intervals import (
    MOST,
    Interval,
    median_interval,
    networks_to_halve,
    networks_to_show,
    t_interval,
)

COUNTS = np.array([0, 1, 1, 2, 0, 3, 1, 2], dtype=float)
"""Streams that starved in eight networks: at least one in six of them."""


def above_zero(interval: Interval) -> bool:
    return interval.low > 0


def one_or_more(interval: Interval) -> bool:
    return interval.low >= 1


def less_than_one(interval: Interval) -> bool:
    return interval.high < 1


def test_half_as_wide() -> None:
    """t(0.975, 7) / √8 = 0.8360; t / √23 = 0.4324, t / √24 = 0.4223, t / √25 = 0.4128."""
    eight, hundred = np.arange(8.0), np.arange(100.0)
    assert networks_to_halve(eight, False, 0.95) == 25
    assert networks_to_halve(hundred, False, 0.95) == pytest.approx(400, abs=12)


@pytest.mark.parametrize("mean", [0.2, 0.5, 1.0])
def test_the_number_is_the_first_that_shows_it(mean: float) -> None:
    values = np.array([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0]) + mean
    needed = networks_to_show(values, False, 0.95, above_zero)
    assert needed is not None
    spread = values.std(ddof=1)
    for count, expected in ((needed, True), (needed - 1, needed == len(values) + 1)):
        made = np.linspace(-1, 1, count)
        like = mean + made / made.std(ddof=1) * spread
        assert above_zero(t_interval(like)) == expected


def test_what_the_mean_does_not_point_to_is_never_shown() -> None:
    assert networks_to_show(np.array([-2.0, 0.0, 1.0]), False, 0.95, above_zero) is None
    assert networks_to_show(np.array([-1.0, 1.001]), False, 0.95, above_zero) is None
    assert MOST == 10_000


def test_counts_that_stay_as_frequent_show_it_at_the_number() -> None:
    """A quarter of them is below one, three of 15. Of 15 throws of a fair coin 3 or fewer are heads in 1.8 %,
    so that the fourth value from below, 1, bounds the median."""
    assert not one_or_more(median_interval(COUNTS))
    needed = networks_to_show(COUNTS, True, 0.95, one_or_more)
    assert needed == 15
    assert networks_to_show(COUNTS, True, 0.95, less_than_one) is None


@pytest.mark.parametrize("chances", [(0.3, 0.3, 0.4), (0.33, 0.4, 0.27), (0.38, 0.4, 0.22)])
def test_about_half_of_the_sweeps_that_draw_on_are_decided_at_the_number(
    chances: tuple[float, ...],
) -> None:
    """Simulated networks: those seen are 24 of a known distribution, those added are like them."""
    generator = np.random.default_rng(5)
    seen = np.repeat(np.arange(3.0), np.round(24 * np.array(chances)).astype(int))
    assert not one_or_more(median_interval(seen))
    needed = networks_to_show(seen, True, 0.95, one_or_more)
    assert needed is not None
    drawn = [
        one_or_more(median_interval(np.append(seen, generator.choice(seen, needed - len(seen)))))
        for _ in range(1_000)
    ]
    assert 0.35 < np.mean(drawn) < 0.8


def test_the_number_is_right_in_the_middle_of_many_sweeps() -> None:
    """Two networks in five are below one; twenty know that share to within a fifth."""
    generator = np.random.default_rng(7)
    exact = networks_to_show(np.repeat([0.0, 1.0], (4, 6)), True, 0.95, one_or_more)
    assert exact == 92
    guesses = [
        networks_to_show((generator.random(20) > 0.4).astype(float), True, 0.95, one_or_more) or MOST
        for _ in range(200)
    ]
    assert np.median(guesses) == pytest.approx(exact, rel=0.5)


def test_the_interval_of_counts_is_half_as_wide_at_the_number() -> None:
    counts = np.arange(40.0)
    needed = networks_to_halve(counts, True, 0.95)
    assert needed is not None
    now = median_interval(counts)
    more = median_interval(np.repeat(counts, round(needed / 40)))
    assert more.high - more.low == pytest.approx((now.high - now.low) / 2, abs=2)
    assert networks_to_halve(np.ones(8), True, 0.95) is None


def test_values_that_are_all_alike_take_six_networks() -> None:
    assert networks_to_show(np.full(3, 2.0), False, 0.95, above_zero) == 6
    assert networks_to_show(np.full(3, 2.0), True, 0.95, one_or_more) == 6
    assert networks_to_show(np.zeros(3), True, 0.95, less_than_one) == 6


def _asked(values: np.ndarray) -> Question:
    return Question("starved", values, "≥ 1", one_or_more, less_than_one, counted=True)


def test_an_unclear_comparison_of_counts_says_both_numbers() -> None:
    answer = _asked(COUNTS).answer(0.95)
    assert (answer.shows, answer.networks_for) == (UNCLEAR, {"yes": 15})
    assert answer.halved_by is not None and answer.halved_by > len(COUNTS)
    lacking = _asked(np.append(COUNTS, np.nan)).answer(0.95)
    assert (lacking.shows, lacking.networks_for, lacking.halved_by) == (UNCLEAR, {}, None)
    alone = _asked(COUNTS[:1]).answer(0.95)
    assert (alone.shows, alone.networks_for, alone.halved_by) == (UNCLEAR, {}, None)
