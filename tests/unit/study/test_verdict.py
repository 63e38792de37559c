"""The last lines of a comparison: each measure with its change, interval and verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torsweep.stats.claims.judging import Answer, Question, above, below, within
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.text import percent_text
from torsweep.study.verdict import Line


def answer(shows: str, low: float = -0.1, high: float = 0.1, networks: int = 8) -> Answer:
    middle = (low + high) / 2
    interval = Interval(middle, low, high, networks, 0.975)
    return Answer("web ttfb", interval, interval, "not 0", shows)


def test_runs_that_are_alike_to_the_last_byte_show_that_there_is_no_effect() -> None:
    values = np.zeros(3)
    asked = Question("web", values, "not 0", above(0), below(0), within(0.05), logarithms=True)
    given = asked.answer(0.975)
    assert Line("web, first byte", given).verdict == "no effect: the same times in every network"
    six = replace(given, shows="no difference")
    assert Line("web, first byte", six).verdict == "no difference"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (answer("yes", 0.01, 0.1), "shown"),
        (answer("no difference", -0.01, 0.01), "no difference"),
        (answer("unclear"), "not shown"),
        (
            answer("unclear", float("nan"), float("nan"), networks=1),
            "not shown, as one network has no interval",
        ),
        (
            answer("unclear", float("nan"), float("nan")),
            "not shown, as a network had too few downloads",
        ),
    ],
)
def test_verdicts(given: Answer, verdict: str) -> None:
    assert Line("web, first byte", given).verdict == verdict


def test_a_line_says_what_so_many_networks_can_show() -> None:
    able = replace(answer("unclear"), can_show={8: 0.24, 16: 0.17, 32: 0.052})
    assert Line("web, first byte", able).can_show == "24 %, 16: 17 %"
    assert Line("web, first byte", answer("unclear")).can_show == "–"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0312, "+3.1 %"),
        (-0.0312, "−3.1 %"),
        (0.0004, "0.0 %"),
        (-0.0004, "0.0 %"),
        (3.021, "+302.1 %"),
        (10.5, "over 1,000 %"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent_text(share) == text
