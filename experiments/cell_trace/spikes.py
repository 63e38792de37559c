"""Spikes that come back at a fixed distance: every so many packets, or every so many seconds.

In: latencies, and the place of each: its number, or its time. Out: :class:`Period`, or None where the spikes
have none.

A spike is a run of latencies far above the rest; where it begins is an event. Whether events share a period
is Rayleigh's test on the circle of that circumference (Mardia and Jupp, *Directional Statistics*, 6.3.1):
with ``n`` events on a circle by chance, the length ``R`` of their mean vector exceeds ``r`` with a
probability of about exp(−n r²). All periods on a fine grid are tried, so that the probability counts once for
each. Spikes at a period are as regular at its half, its third and so on: the longest is the one meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torsweep.errors import InputError

SPIKE_HEIGHTS = (8.0, 16.0, 32.0, 64.0, 128.0)
"""How far above the median a spike begins, in what latencies above the median lie above it at their median.
The lowest that leaves spikes with a period is taken: queues have long tails, whose own peaks would hide
it."""

FEWEST_SPIKES = 5
MOST_SPIKES = 300
"""The most spikes that are used: the highest ones, if there are more."""

CHANCE = 1e-3
"""The probability that a period is found in spikes that have none, over all periods that are tried."""

LEAST_REGULAR = 0.8
"""The least length of the mean vector; it is 0.82 where spikes scatter by a tenth of the period."""

NEARLY = 0.9
"""A lower frequency is taken if it has at least this share of the highest regularity."""

LEAST_PERIODIC_SHARE = 0.5
"""The least share of the period's places, from the first spike to the last, at which there is a spike."""

_STEPS = 8
"""Steps of the grid of frequencies for each whole turn during the observation."""


@dataclass(frozen=True)
class Period:
    """Spikes every ``length`` of whatever positions count; ``spikes`` of them at ``share`` of the places.

    ``height`` is the median of their highest latencies above the median of all, in the unit of latencies;
    ``chance`` the probability that spikes without a period look as regular.
    """

    length: float
    spikes: int
    share: float
    height: float
    chance: float


def find_period(latencies: NDArray[np.float64], positions: NDArray[np.float64]) -> Period | None:
    """The period of the spikes of ``latencies`` at ``positions``, which ascend.

    Raises InputError when the two differ in length, or positions do not ascend.
    """
    if len(latencies) != len(positions) or (len(positions) and np.any(np.diff(positions) < 0)):
        raise InputError("needs a position for each latency, in order", accepted="positions that ascend")
    latencies, positions = np.asarray(latencies, np.float64), np.asarray(positions, np.float64)
    tried = np.array([])
    for least in SPIKE_HEIGHTS:
        events, heights = _events(latencies, positions, least)
        # Spikes that are clear of the rest are the same ones at several heights.
        period = None if np.array_equal(events, tried) else _period_of(events, heights)
        if period is not None:
            return period
        tried = events
    return None


def _period_of(events: NDArray[np.float64], heights: NDArray[np.float64]) -> Period | None:
    if len(events) < FEWEST_SPIKES or events[-1] == events[0]:
        return None
    frequencies = _frequencies(events)
    regular = _regularity(events, frequencies)
    best = regular.max()
    tried = len(frequencies) * len(SPIKE_HEIGHTS)
    chance = min(1.0, tried * float(np.exp(-len(events) * best**2)))
    if best < LEAST_REGULAR or chance > CHANCE:
        return None
    # The lowest frequency that is nearly as regular as any.
    place = int(np.flatnonzero(regular >= NEARLY * best)[0])
    length = _refined(events, frequencies, place)
    places = round(float(events[-1] - events[0]) / length) + 1
    taken = len(np.unique(np.round((events - events[0]) / length)))
    if taken < LEAST_PERIODIC_SHARE * places:
        return None
    return Period(length, len(events), taken / places, float(np.median(heights)), chance)


def _events(
    latencies: NDArray[np.float64], positions: NDArray[np.float64], least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where spikes begin, and how far each rises above the median."""
    if not len(latencies):
        return positions, latencies
    above = latencies - np.median(latencies)
    spread = float(np.median(above[above > 0])) if np.any(above > 0) else 0.0
    is_high = above > least * spread
    begins = np.flatnonzero(is_high & ~np.concatenate([[False], is_high[:-1]]))
    if not len(begins):
        return positions[:0], latencies[:0]
    heights = np.maximum.reduceat(np.where(is_high, above, 0.0), begins)
    highest = np.sort(np.argsort(heights, kind="stable")[::-1][:MOST_SPIKES])
    return positions[begins][highest], heights[highest]


def _frequencies(events: NDArray[np.float64]) -> NDArray[np.float64]:
    """The frequencies to try: from two turns between the first and last spike to four for each spike."""
    span = events[-1] - events[0]
    return np.arange(2 * _STEPS, 4 * len(events) * _STEPS) / (_STEPS * span)


def _regularity(events: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The length of the mean vector of ``events`` at each frequency."""
    since = events - events[0]
    parts = [
        np.abs(np.exp(2j * np.pi * np.outer(some, since)).mean(axis=1))
        for some in np.array_split(frequencies, max(1, len(frequencies) * len(events) // 4_000_000))
    ]
    return np.concatenate(parts)


def _refined(events: NDArray[np.float64], frequencies: NDArray[np.float64], place: int) -> float:
    """The period of the best frequency within a step of the grid of the one at ``place``."""
    step = frequencies[1] - frequencies[0]
    # The first that is nearly best may lie on the slope of the peak.
    near = np.linspace(frequencies[place] - step, frequencies[place] + 3 * step, 401)
    return float(1 / near[int(_regularity(events, near).argmax())])
