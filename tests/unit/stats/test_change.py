"""Claims that there is a change: read both ways, each measure for itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torsweep.stats.claims.change import (
    BESIDE,
    NOTHING,
    SAME_DOWNLOAD,
    STATED,
    AnyChange,
    MeasureQuestion,
    other_than_0,
)
from torsweep.stats.claims.judging import (
    HOLDS,
    INCONCLUSIVE,
    NO_DIFFERENCE,
    UNCLEAR,
    YES,
    Inquiry,
    Verdict,
    within,
    within_factor,
)
from torsweep.stats.inference.intervals import share_interval, t_interval

CHANGE = AnyChange(id="web", text="A sentence.", test="change", knob="tor", kind="web")
BOUND = 0.05


def question(values: np.ndarray, group: str = SAME_DOWNLOAD) -> MeasureQuestion:
    """As the claim asks it of a time; ``values`` are logarithms of ratios."""
    return MeasureQuestion(
        group,
        values,
        "not 0",
        other_than_0,
        lambda _: False,
        within_factor(BOUND),
        logarithms=True,
        group=group,
        measure="paired_ttfb",
        bound=BOUND,
        networks=tuple(range(len(values))),
        differences_s=values,
    )


def values_of(ratio: float, noise: float, networks: int = 8, seed: int = 7) -> np.ndarray:
    return np.log(ratio) + noise * np.random.default_rng(seed).normal(size=networks)


def judged(*values: np.ndarray, group: str = SAME_DOWNLOAD, family: dict[str, int] | None = None) -> Verdict:
    return Inquiry(CHANGE, "", tuple(question(each, group) for each in values), family=family or {}).verdict()


def shown(verdict: Verdict) -> list[str]:
    return [answer.shows for answer in verdict.comparisons]


@pytest.mark.parametrize("ratio", [1.2, 0.8])
def test_a_change_is_shown_in_either_direction(ratio: float) -> None:
    verdict = judged(values_of(ratio, 0.02), values_of(ratio, 0.02, seed=8))
    assert (verdict.verdict, shown(verdict)) == (HOLDS, [YES, YES])
    first = verdict.comparisons[0]
    assert first.interval.mean == pytest.approx(ratio - 1, abs=0.03)
    assert first.interval == first.simultaneous


@pytest.mark.parametrize(
    ("family", "errors"),
    [
        ({SAME_DOWNLOAD: 4, BESIDE: 10, NOTHING: 2}, {SAME_DOWNLOAD: 0.04 / 4, BESIDE: 0.005 / 10}),
        (
            {STATED: 1, SAME_DOWNLOAD: 3, BESIDE: 10, NOTHING: 2},
            {STATED: 0.04, SAME_DOWNLOAD: 0.005 / 3, BESIDE: 0.0025 / 10},
        ),
    ],
)
def test_the_error_of_a_page_goes_to_what_it_is_about(
    family: dict[str, int], errors: dict[str, float]
) -> None:
    for group, error in errors.items():
        (answer,) = judged(values_of(1, 0.01), group=group, family=family).comparisons
        assert answer.simultaneous.confidence == pytest.approx(1 - error)


def test_there_is_no_difference_where_the_interval_of_90_per_cent_lies_within_the_bound() -> None:
    """All measures have to pass: two one-sided tests of 5 % each, whatever else is on the page."""
    family = {SAME_DOWNLOAD: 100}
    (answer,) = judged(values_of(1, 0.03), family=family).comparisons
    assert not within_factor(BOUND)(answer.simultaneous) and within_factor(BOUND)(answer.interval)
    assert answer.shows == NO_DIFFERENCE
    assert shown(judged(values_of(1.04, 0.03), family=family)) == [UNCLEAR]


def test_what_is_identical_makes_no_difference_however_few_networks() -> None:
    same = replace(question(np.zeros(2)), identical=True)
    assert same.answer(0.99).shows == NO_DIFFERENCE
    assert question(np.zeros(2)).answer(0.99).shows == UNCLEAR


def test_no_difference_takes_every_network_within_three_times_the_bound() -> None:
    alike = values_of(1.0, 0.005, networks=20)
    assert shown(judged(alike)) == [NO_DIFFERENCE]
    alike[4] = 4 * np.log1p(BOUND)
    (answer,) = judged(alike).comparisons
    assert within_factor(BOUND)(answer.interval), "the mean over networks is where it should be"
    assert answer.shows == UNCLEAR and answer.behind is not None and answer.behind.far_out == (4,)
    assert len(answer.behind.by_network) == 20


def test_a_network_far_from_others_that_vary_is_named_only_where_it_is_far_for_them() -> None:
    far = [judged(values_of(1.0, 0.3, seed=seed)).comparisons[0].behind for seed in range(100)]
    assert sum(bool(each.far_out) for each in far if each is not None) <= 3
    values = values_of(1.5, 0.02)
    values[2] += 1
    behind = judged(values).comparisons[0].behind
    assert behind is not None and behind.far_out == (2,)


def test_one_measure_is_enough_and_the_rest_is_told() -> None:
    verdict = judged(values_of(1.2, 0.01), values_of(1.0, 0.01))
    assert (verdict.verdict, shown(verdict)) == (HOLDS, [YES, NO_DIFFERENCE])
    assert verdict.reason == "1 of 2 comparisons show a change; 1 of 2 show no change as large as the margin"
    unclear = judged(values_of(1.6, 0.09), values_of(1.04, 0.09))
    assert (unclear.verdict, shown(unclear)) == (HOLDS, [YES, UNCLEAR])
    assert judged(values_of(1.0, 0.2)).verdict == INCONCLUSIVE


@pytest.mark.parametrize(("networks", "clients", "known"), [(8, 60, NO_DIFFERENCE), (3, 20, UNCLEAR)])
def test_where_nobody_is_stuck_the_number_of_clients_says_what_may_be(
    networks: int, clients: int, known: str
) -> None:
    """An interval of no width would claim to know every client that was not there."""
    counts = np.tile([0.0, clients], (networks, 1))
    asked = MeasureQuestion(
        "",
        np.zeros(networks),
        "not 0",
        other_than_0,
        lambda _: False,
        within(0.02),
        group=NOTHING,
        measure="without_progress",
        bound=0.02,
        networks=tuple(range(networks)),
        counts=(counts, counts),
        confidence=1 - 0.01 / 12,
    )
    answer = asked.answer(1 - 0.01 / 12)
    # None of so many clients would be stuck with a chance of half the error.
    most = 1 - (0.01 / 12 / 2) ** (1 / (networks * clients))
    assert answer.simultaneous.high == pytest.approx(most, rel=1e-6)
    assert answer.simultaneous.low == -answer.simultaneous.high
    assert answer.shows == known


def test_shares_that_differ_between_networks_are_known_no_better_than_networks_are() -> None:
    draw = np.random.default_rng(3)
    stuck = draw.binomial(60, [0.0, 0.3, 0.0, 0.4, 0.1, 0.0, 0.5, 0.2])
    sides = [np.column_stack([hits, np.full(8, 60)]) for hits in (np.zeros(8), stuck)]
    interval = share_interval(*sides, 0.95, t_interval)
    shares = stuck / 60
    half = 2.365 * shares.std(ddof=1) / np.sqrt(8)
    assert interval.mean == pytest.approx(shares.mean())
    assert (interval.low, interval.high) == pytest.approx(
        (shares.mean() - half, shares.mean() + half), abs=1e-3
    )


@pytest.mark.parametrize("independent", [False, True])
def test_intervals_of_shares_miss_no_more_often_than_they_say(independent: bool) -> None:
    draw = np.random.default_rng(5)
    missed = 0
    for _ in range(2_000):
        hits = draw.binomial(30, [0.02, 0.05], (4, 2))
        sides = [np.column_stack([each, np.full(4, 30)]) for each in hits.T]
        interval = share_interval(*sides, 0.9, None if independent else t_interval)
        missed += not interval.low <= 0.03 <= interval.high
    assert missed / 2_000 <= 0.1
