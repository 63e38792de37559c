"""Looks at a growing number of networks: the bounds, what the intervals cover, and what the judging of claims
shows, A/A and with a change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from torsweep.errors import InputError
from torsweep.stats.claims.change import AnyChange, other_than_0
from torsweep.stats.claims.judging import YES, Inquiry, Question, within_factor
from torsweep.stats.inference.interim import (
    FIRST_SHARE,
    FIXED,
    Design,
    confidences,
    grown_share,
    normal_bounds,
    with_look,
)
from torsweep.stats.inference.intervals import median_interval, t_interval
from torsweep.stats.inference.moderation import EFFECT_VARIES
from torsweep.stats.inference.planning import smallest_shown

FIFTHS = np.arange(1, 6) / 5
LOOKS = tuple(range(8, 65, 8))
GROWN = Design(LOOKS, tuple(looks / LOOKS[-1] for looks in LOOKS))


def test_the_bounds_are_those_in_print() -> None:
    """Five looks, two-sided 5 %, with a spending function of Lan and DeMets.

    Jennison and Turnbull, Group Sequential Methods (2000), chapter 7, print them to two or three digits.
    """
    pocock = 0.05 * np.log(1 + (np.e - 1) * FIFTHS)
    bounds = normal_bounds(FIFTHS, np.diff(pocock, prepend=0.0))
    np.testing.assert_allclose(bounds, [2.438, 2.427, 2.410, 2.397, 2.386], atol=6e-4)


def test_a_single_look_is_an_ordinary_interval() -> None:
    values = np.random.default_rng(1).normal(size=8)
    assert Design((8,), (1.0,)).interval(values, 0.95).low == pytest.approx(t_interval(values).low)
    assert FIXED.interval(values, 0.9) == t_interval(values, 0.9)


def covered(looks: Sequence[int], spent: Sequence[float], confidence: float, values: np.ndarray) -> float:
    """How often the intervals of all looks hold 0, the mean of ``values`` (studies, networks)."""
    all_cover = np.ones(len(values), dtype=bool)
    for networks, level in zip(looks, confidences(looks, spent, confidence), strict=True):
        seen = values[:, :networks]
        error = seen.std(axis=1, ddof=1) / np.sqrt(networks)
        all_cover &= np.abs(seen.mean(axis=1)) < stats.t.ppf((1 + level) / 2, networks - 1) * error
    return all_cover.mean()


@pytest.mark.parametrize(("confidence", "straying"), [(0.9, 0), (0.95, 0), (0.99375, 0), (0.95, 5)])
def test_all_looks_together_cover_as_often_as_one_says(confidence: float, straying: int) -> None:
    """Normal values, or some that stray farther (Student's t of so many degrees)."""
    generator, shape = np.random.default_rng(2), (20_000, LOOKS[-1])
    values = generator.standard_t(straying, shape) if straying else generator.normal(size=shape)
    assert covered(LOOKS, GROWN.spent, confidence, values) == pytest.approx(confidence, abs=0.006)


@pytest.mark.parametrize("looks", [(8,), (8, 16, 24, 32, 40), (3, 6), (5, 7, 30)])
def test_looks_that_nobody_planned_leave_the_error(looks: Sequence[int]) -> None:
    error, values = 0.0125, np.random.default_rng(46).normal(size=(100_000, looks[-1]))
    spent = [grown_share(looks[0], each) for each in looks]
    assert covered(looks, spent, 1 - error, values) >= 1 - error - 3 * np.sqrt(error / len(values))


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


CLAIM = AnyChange(id="web", text="A.", test="change", knob="tor", kind="web", metrics=("ttfb", "ttlb"))
LINES, SPREAD = 4, 0.1


def question(values: np.ndarray) -> Question:
    """As the claim asks it."""
    same = within_factor(0.05)
    return Question("", values, "", other_than_0, lambda _: False, same, logarithms=True)


def shown_at(values: np.ndarray, looks: Sequence[int]) -> int | None:
    """The look at which the first of the lines, a row of ``values`` each, is shown; each look is kept, as
    `torsweep compare` does."""
    design = Design()
    for networks in looks:
        design = design.look(networks)
        questions = tuple(question(row[:networks]) for row in values)
        verdict = Inquiry(CLAIM, "", questions, family={"": LINES}).verdict(design)
        if any(answer.shows == YES for answer in verdict.comparisons):
            return networks
    return None


@pytest.mark.parametrize("looks", [(8, 16, 24, 32, 40), (3, 6)])
def test_five_studies_of_a_hundred_show_something_where_there_is_nothing(looks: Sequence[int]) -> None:
    """At most, up to chance: 0.05 ± 0.011 of 400 studies, on any of four lines at any look."""
    generator = np.random.default_rng(45)
    studies = [generator.normal(0, SPREAD, (LINES, looks[-1])) for _ in range(400)]
    assert sum(shown_at(study, looks) is not None for study in studies) <= 0.083 * len(studies)


@pytest.mark.parametrize(("networks", "looks"), [(8, (8,)), (16, (8, 16))])
def test_a_change_is_shown_as_often_as_the_plan_says(networks: int, looks: Sequence[int]) -> None:
    design = Design()
    for each in looks:
        design = design.look(each)
    change = smallest_shown(SPREAD, networks, design.confidence_at(networks, 1 - 0.05 / LINES))
    generator = np.random.default_rng(47)
    varies = change * EFFECT_VARIES
    studies = [change + generator.normal(0, np.hypot(SPREAD, varies), (1, networks)) for _ in range(300)]
    share = np.mean([shown_at(study, looks) is not None for study in studies])
    assert 0.8 - 0.07 < share < (0.87 if len(looks) == 1 else 0.97)


def test_the_first_look_costs_little_and_later_ones_are_kept() -> None:
    first = Design().look(8)
    assert first.shares == {8: FIRST_SHARE}
    assert first.look(8) is first
    values = np.random.default_rng(48).normal(size=8)
    fixed, looked = (design.interval(values, 0.9875) for design in (Design(), first))
    width = (looked.high - looked.low) / (fixed.high - fixed.low)
    assert 1 < width < 1.06
    grown = first.look(16)
    assert grown.shares == pytest.approx({8: 0.8, 16: 0.9})
    assert grown.look(12) is grown, "fewer networks than have been seen are no further look"


def test_a_study_is_not_looked_at_with_fewer_networks_than_before() -> None:
    assert with_look({}, 8) == {8: 0.8}
    assert with_look({8: 0.8, 16: 0.9}, 8) == {8: 0.8, 16: 0.9}
    with pytest.raises(InputError, match="--networks: is fewer than this comparison has been looked at"):
        with_look({8: 0.8, 16: 0.9}, 12)
