"""How many networks would say more."""

from __future__ import annotations

import numpy as np
import pytest

from torsweep.stats.intervals import Interval, t_interval
from torsweep.stats.planning import MOST, networks_to_halve, networks_to_show


def above_zero(interval: Interval) -> bool:
    return interval.low > 0


def test_half_as_wide() -> None:
    """t(0.975, 7) / √8 = 0.8360; t / √23 = 0.4324, t / √24 = 0.4223, t / √25 = 0.4128."""
    assert networks_to_halve(8, 0.95) == 25
    assert networks_to_halve(100, 0.95) == pytest.approx(400, abs=12)


@pytest.mark.parametrize("mean", [0.2, 0.5, 1.0])
def test_the_number_is_the_first_that_shows_it(mean: float) -> None:
    values = np.array([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0]) + mean
    needed = networks_to_show(values, 0.95, above_zero)
    assert needed is not None
    spread = values.std(ddof=1)
    for count, expected in ((needed, True), (needed - 1, needed == len(values) + 1)):
        made = np.linspace(-1, 1, count)
        like = mean + made / made.std(ddof=1) * spread
        assert above_zero(t_interval(like)) == expected


def test_what_the_mean_does_not_point_to_is_never_shown() -> None:
    assert networks_to_show(np.array([-2.0, 0.0, 1.0]), 0.95, above_zero) is None
    assert networks_to_show(np.array([-1.0, 1.001]), 0.95, above_zero) is None
    assert MOST == 10_000
