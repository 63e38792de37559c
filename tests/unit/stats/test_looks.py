"""Comparisons that are looked at while they grow: A/A, and with a change, through the judging of claims."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from torsweep.errors import InputError
from torsweep.stats.claims.change import AnyChange
from torsweep.stats.claims.judging import YES, Inquiry, Question, above, below, within_factor
from torsweep.stats.inference.interim import FIRST_SHARE, Design, confidences, grown_share, with_look
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.inference.moderation import EFFECT_VARIES
from torsweep.stats.inference.planning import smallest_shown

CLAIM = AnyChange(id="web", text="A.", test="change", knob="tor", kind="web", metrics=("ttfb", "ttlb"))
LINES, SPREAD = 4, 0.1


def question(values: np.ndarray) -> Question:
    """As the claim asks it."""

    def other_than_0(interval: Interval) -> bool:
        return above(0)(interval) or below(0)(interval)

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


@pytest.mark.parametrize("looks", [(8,), (8, 16, 24, 32, 40), (3, 6), (5, 7, 30)])
def test_the_levels_of_all_looks_together_leave_the_error(looks: Sequence[int]) -> None:
    """The same without the program's intervals, for many more studies."""
    error = 0.05 / LINES
    values = np.random.default_rng(46).normal(size=(100_000, looks[-1]))
    levels = confidences(looks, [grown_share(looks[0], each) for each in looks], 1 - error)
    missed = np.zeros(len(values), dtype=bool)
    for networks, level in zip(looks, levels, strict=True):
        seen = values[:, :networks]
        bound = stats.t.ppf((1 + level) / 2, networks - 1) / np.sqrt(networks)
        missed |= np.abs(seen.mean(axis=1)) > bound * seen.std(axis=1, ddof=1)
    assert missed.mean() <= error + 3 * np.sqrt(error / len(values))


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
