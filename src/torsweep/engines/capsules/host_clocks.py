"""How far the clock of one host is ahead of another's, and how much faster it runs, from messages between
them.

In: for both directions between two hosts, when each message left by the sender's clock and came by the
receiver's. Out: :class:`Skew`, which takes times of the second host to the first one's clock; InputError
where the times do not say it.

No message comes before it leaves. Each one from the first host to the second therefore bounds the offset of
the clocks from above at its time, and each one back bounds it from below. Clocks with a fixed drift have an
offset that is a line in time, so that a line has to fit between all bounds: where none does, a clock was set
or ran unevenly, and nothing is said. Of the lines that fit, the one furthest from every bound is taken. Its
distance, half of the least round trip, is how wrong the offset can be at most (``uncertainty_ns``); it is
right where the empty way takes as long in both directions, which no clock of the two can tell.

A step by less than the least round trip leaves room for a line. It shows where the messages before and after
leave much more room apart than together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from torsweep.errors import InputError

FEWEST = 20
"""The fewest messages in each direction."""

LARGEST_DRIFT = 1e-2
"""Quartz is within 1e-4; a clock in another unit is told by :func:`tick_ratio` before."""

SPLITS = 10
"""Parts into which the time is divided; a step of the clock is looked for between them."""

LEAST_ROOM = 0.7
"""The least share of the room that two stretches leave for a line apart which they must leave together; with
less, there is a step between them."""

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Skew:
    """The second clock shows ``offset_ns + (1 + drift) * t`` when the first shows ``t``; see the module."""

    offset_ns: float
    drift: float
    uncertainty_ns: float

    def to_first(self, times_ns: Times) -> Times:
        """Times of the second clock as the first would have shown them, to the nanosecond."""
        return np.rint((times_ns - self.offset_ns) / (1 + self.drift)).astype(np.int64)


@dataclass(frozen=True)
class Messages:
    """Messages of one direction, in any order: when they left and when they came, each by the clock of its
    end, ns."""

    left_ns: Times
    came_ns: Times


def estimate(there: Messages, back: Messages) -> Skew:
    """The skew of the second host against the first; ``there`` goes from the first to the second.

    Raises InputError where nothing honest can be said; see the module's docstring.
    """
    for messages in (there, back):
        if len(messages.left_ns) != len(messages.came_ns):
            raise _refused("a message lacks a time", len(messages.left_ns))
        if len(messages.left_ns) < FEWEST:
            raise _refused("too few messages in one direction", len(messages.left_ns), f"{FEWEST} or more")
    zero = int(min(there.left_ns.min(), back.came_ns.min()))
    above = _Bounds(there.left_ns - zero, there.came_ns - there.left_ns)
    below = _Bounds(back.came_ns - zero, back.left_ns - back.came_ns)
    if min(np.ptp(above.time), np.ptp(below.time)) == 0:
        raise _refused("a clock stands still", 0)
    line = _line_between(above, below)
    if line is None or line.room < 0:
        raise _refused("no line fits between what messages allow: one was set, or ran unevenly")
    if abs(line.drift) > LARGEST_DRIFT:
        raise _refused("they drift apart too fast", line.drift, f"{LARGEST_DRIFT:g} or less")
    _refuse_steps(above, below, line.room)
    return Skew(line.offset - line.drift * zero, line.drift, line.room)


def stretches(times_ns: Times) -> Iterator[slice]:
    """The stretches of ``times_ns``, in the order in which a host wrote them down, between resets of its
    clock.

    A clock that goes back was reset. One that jumps ahead may have waited: :func:`estimate` tells the two
    apart.
    """
    resets = np.flatnonzero(np.diff(times_ns) < 0) + 1
    edges = [0, *resets.tolist(), len(times_ns)]
    for begin, end in pairwise(edges):
        yield slice(begin, end)


def tick_ratio(first: Times, second: Times) -> float:
    """How many ticks the second clock counts for one of the first: a power of ten.

    ``first`` and ``second`` are times of the same events, one by each clock. Raises InputError when a clock
    does not advance, or when the ratio is no power of ten to within :data:`LARGEST_DRIFT`.
    """
    spans = float(np.ptp(first)), float(np.ptp(second))
    if min(spans) <= 0:
        raise _refused("a clock stands still", min(spans))
    ratio = spans[1] / spans[0]
    ticks = 10.0 ** round(float(np.log10(ratio)))
    if abs(ratio / ticks - 1) > LARGEST_DRIFT:
        raise _refused("they count in units that are no power of ten of each other", ratio)
    return ticks


@dataclass(frozen=True)
class _Bounds:
    """Bounds of the offset, ns, and when they hold, ns by the first clock."""

    time: Times
    offset: Times

    def before(self, time: float) -> _Bounds:
        chosen = self.time <= time
        return _Bounds(self.time[chosen], self.offset[chosen])

    def after(self, time: float) -> _Bounds:
        chosen = self.time > time
        return _Bounds(self.time[chosen], self.offset[chosen])

    def hull(self, sign: int) -> NDArray[np.float64]:
        """The corners, (n, 2), of the hull of the bounds from below (``sign`` 1) or from above (-1)."""
        order = np.lexsort((sign * self.offset, self.time))
        corners: list[tuple[int, int]] = []
        for time, offset in zip(self.time[order].tolist(), (sign * self.offset[order]).tolist(), strict=True):
            while len(corners) > 1 and _is_above(corners[-1], corners[-2], (time, offset)):
                corners.pop()
            corners.append((time, offset))
        return np.array(corners, np.float64) * (1, sign)


@dataclass(frozen=True)
class _Line:
    offset: float
    drift: float
    room: float


def _is_above(middle: tuple[int, int], first: tuple[int, int], last: tuple[int, int]) -> bool:
    run, rise = last[0] - first[0], last[1] - first[1]
    return (middle[1] - first[1]) * run >= rise * (middle[0] - first[0])


def _line_between(above: _Bounds, below: _Bounds) -> _Line | None:
    """The line furthest from all bounds: above those of ``below``, below those of ``above``.

    Its room is negative where no line fits between them.
    """
    high, low = above.hull(1), below.hull(-1)
    # Numbers of about 1 each, as the solver wants them.
    time_scale = max(float(high[-1, 0]), float(low[-1, 0]), 1.0)
    middle = float(np.median(high[:, 1]))
    scale = max(float(np.abs(high[:, 1] - middle).max()), float(np.abs(low[:, 1] - middle).max()), 1.0)
    columns = [
        np.column_stack([np.ones(len(side)), side[:, 0] / time_scale, np.full(len(side), sign)])
        for side, sign in ((high, 1.0), (low, -1.0))
    ]
    # offset + drift * time + room <= high, and offset + drift * time - room >= low.
    limits = np.concatenate([(high[:, 1] - middle) / scale, -(low[:, 1] - middle) / scale])
    found = linprog(
        [0.0, 0.0, -1.0],
        A_ub=np.vstack([columns[0], -columns[1]]),
        b_ub=limits,
        bounds=[(None, None)] * 3,
        method="highs",
    )
    if not found.success or found.x is None:
        return None
    offset, drift, room = (float(value) * scale for value in found.x)
    return _Line(offset + middle, drift / time_scale, room)


def _refuse_steps(above: _Bounds, below: _Bounds, room: float) -> None:
    """InputError where two stretches of time leave much more room for a line apart than together."""
    begin = max(int(above.time.min()), int(below.time.min()))
    end = min(int(above.time.max()), int(below.time.max()))
    edges = np.linspace(begin, end, SPLITS + 1)[1:-1]
    # A step lies between two neighbours, and neither stretch has it.
    for last, first in zip((begin, *edges), (*edges, end), strict=True):
        parts = [(above.before(last), below.before(last)), (above.after(first), below.after(first))]
        if any(len(bounds.time) < FEWEST for part in parts for bounds in part):
            continue
        lines = [_line_between(*part) for part in parts]
        apart = min(line.room if line else 0.0 for line in lines)
        if room < LEAST_ROOM * apart:
            least = f"{LEAST_ROOM:g} of the {apart:.0f} ns of its stretches"
            raise _refused("one was set by less than a round trip", f"room of {room:.0f} ns", least)


def _refused(problem: str, value: object = None, accepted: str = "clocks with a fixed drift") -> InputError:
    return InputError(f"two clocks cannot be compared: {problem}", value=value, accepted=accepted)
