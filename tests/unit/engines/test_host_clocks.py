"""Clocks of two hosts: planted skews are found, and what nobody can know is refused."""

from __future__ import annotations

import numpy as np
import pytest

from torsweep import seeds
from torsweep.engines.breakdown.clocks import Messages, Skew, estimate, stretches, tick_ratio
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


def test_stretches_between_resets_are_estimated_each_by_itself() -> None:
    there, back = made(9 * SECOND, 2e-5)
    # The second host starts anew after 100 s: its clock shows 0.
    reset_ns = int(9 * SECOND + 100 * SECOND * (1 + 2e-5))
    came = np.where(there.came_ns < reset_ns, there.came_ns, there.came_ns - reset_ns)
    left = np.where(back.left_ns < reset_ns, back.left_ns, back.left_ns - reset_ns)
    order = np.argsort(there.came_ns)
    parts = [list(stretches(came[order])), list(stretches(left))]
    assert [len(part) for part in parts] == [2, 2]
    skews = [
        estimate(
            Messages(there.left_ns[order][mine], came[order][mine]),
            Messages(left[other], back.came_ns[other]),
        )
        for mine, other in zip(*parts, strict=True)
    ]
    for skew, expected in zip(skews, (9 * SECOND, 9 * SECOND - reset_ns), strict=True):
        assert skew.offset_ns == pytest.approx(expected, abs=2 * MS)
        assert skew.drift == pytest.approx(2e-5, abs=1e-5)


def test_units_of_clocks_are_told() -> None:
    events = np.arange(0, 60 * SECOND, 7 * MS)
    assert tick_ratio(events, events // 1000) == pytest.approx(1e-3)
    assert tick_ratio(events, (events * (1 + 1e-4)).astype(np.int64)) == 1.0
    with pytest.raises(InputError, match="no power of ten"):
        tick_ratio(events, events * 24)
    with pytest.raises(InputError, match="stands still"):
        tick_ratio(events, np.zeros_like(events))


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
