"""Clocks of two hosts: planted skews are found, and what nobody can know is refused."""

from __future__ import annotations

import numpy as np
import pytest

from torsweep import seeds
from torsweep.engines.breakdown.clocks import Messages, Skew, estimate
from torsweep.errors import InputError

MS, SECOND = 1_000_000, 1_000_000_000
WAY_NS = 40 * MS


def made(
    offset_ns: float,
    drift: float,
    *,
    seed: int = 1,
    ways: tuple[int, int] = (WAY_NS, WAY_NS),
    count: int = 600,
) -> tuple[Messages, Messages]:
    """Messages over five minutes, most of which wait for some time in queues."""
    generator = seeds.stream(seed, "messages")

    def shown(time: np.ndarray) -> np.ndarray:
        return np.rint(offset_ns + (1 + drift) * time).astype(np.int64)

    def direction(way_ns: int) -> tuple[np.ndarray, np.ndarray]:
        left = np.sort(generator.integers(0, 300 * SECOND, count))
        return left, left + way_ns + np.rint(generator.exponential(8 * MS, count)).astype(np.int64)

    left, came = direction(ways[0])
    there = Messages(left, shown(came))
    left, came = direction(ways[1])
    return there, Messages(shown(left), came)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset_ns", [0, 3 * MS, -7 * SECOND, 86_400 * SECOND])
@pytest.mark.parametrize("drift", [0.0, 5e-5, -2e-4, 5e-3])
def test_planted_skews_are_removed(seed: int, offset_ns: int, drift: float) -> None:
    there, back = made(offset_ns, drift, seed=seed)
    skew = estimate(there, back)
    assert skew.drift == pytest.approx(drift, abs=2e-6)
    assert skew.uncertainty_ns == pytest.approx(WAY_NS, rel=0.02)
    moments = np.arange(0, 300 * SECOND, SECOND)
    shown = np.rint(offset_ns + (1 + drift) * moments).astype(np.int64)
    # A fortieth of what nobody can know.
    assert np.abs(skew.to_first(shown) - moments).max() < WAY_NS / 40


def test_ways_that_differ_stay_within_what_is_said_to_be_uncertain() -> None:
    there, back = made(5 * MS, 1e-5, ways=(70 * MS, 10 * MS))
    skew = estimate(there, back)
    error = skew.offset_ns - 5 * MS
    assert 0.9 * 30 * MS < error < skew.uncertainty_ns == pytest.approx(40 * MS, rel=0.05)


@pytest.mark.parametrize("step_ns", [-SECOND, 100 * MS, 3600 * SECOND, 40 * MS])
def test_clocks_that_are_set_are_refused(step_ns: int) -> None:
    there, back = made(0, 1e-5)
    late = 150 * SECOND
    set_there = Messages(there.left_ns, there.came_ns + step_ns * (there.came_ns > late))
    set_back = Messages(back.left_ns + step_ns * (back.left_ns > late), back.came_ns)
    with pytest.raises(
        InputError, match=r"two clocks cannot be compared: (no line fits|one was set|they drift)"
    ):
        estimate(set_there, set_back)


def test_a_clock_that_runs_unevenly_is_refused() -> None:
    there, back = made(0, 0)

    def wander(time: np.ndarray) -> np.ndarray:
        return time + np.rint(60 * MS * np.sin(time / (40 * SECOND))).astype(np.int64)

    with pytest.raises(InputError, match="two clocks cannot be compared"):
        estimate(Messages(there.left_ns, wander(there.came_ns)), Messages(wander(back.left_ns), back.came_ns))


def test_too_few_messages_say_nothing() -> None:
    there, back = made(0, 0, count=200)
    few = Messages(back.left_ns[:10], back.came_ns[:10])
    with pytest.raises(InputError, match="too few messages in one direction, got 10; accepted: 20 or more"):
        estimate(there, few)
    with pytest.raises(InputError, match="lacks a time"):
        estimate(there, Messages(back.left_ns[:50], back.came_ns[:49]))


def test_times_come_back_to_the_nanosecond() -> None:
    skew = Skew(12_345.0, 0.0, 1.0)
    assert skew.to_first(np.array([12_345, 12_346])).tolist() == [0, 1]
