"""Whether all hosts of a trace have the same clock, as far as messages between them show; if not, times are
converted to the first host's clock.

In: messages between hosts, each with when it left by its sender's clock and when it came by its receiver's:
cells that one relay wrote and the next one read, packets that both ends captured. Out: :class:`Clocks`, which
converts times of each host to one clock, and says of each host what was found.

Hosts are compared one after the other, each with the one that it has most messages with among those that
were compared before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linprog

from torsweep.errors import InputError

FEWEST_MESSAGES = 20
"""The fewest messages in each direction."""

LARGEST_DRIFT = 1e-2
"""Quartz is within 1e-4."""

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


def estimate(forth: Messages, back: Messages) -> Skew:
    """The skew of the second host against the first; ``forth`` goes from the first to the second.

    Raises InputError where nothing honest can be said; see the module's docstring.
    """
    for messages in (forth, back):
        if len(messages.left_ns) != len(messages.came_ns):
            raise _refused("a message lacks a time", len(messages.left_ns))
        if len(messages.left_ns) < FEWEST_MESSAGES:
            raise _refused(
                "too few messages in one direction", len(messages.left_ns), f"{FEWEST_MESSAGES} or more"
            )
    zero = int(min(forth.left_ns.min(), back.came_ns.min()))
    above = _Bounds(forth.left_ns - zero, forth.came_ns - forth.left_ns)
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


@dataclass(frozen=True)
class _Bounds:
    """Bounds of the offset, ns, and when they hold, ns by the first clock."""

    time: Times
    offset: Times

    def where(self, chosen: NDArray[np.bool_]) -> _Bounds:
        return _Bounds(self.time[chosen], self.offset[chosen])


@dataclass(frozen=True)
class _OffsetLine:
    offset: float
    drift: float
    room: float


def _line_between(above: _Bounds, below: _Bounds) -> _OffsetLine | None:
    """The line furthest from all bounds: above those of ``below``, below those of ``above``.

    Its room is negative where no line fits between them.
    """
    high, low = (np.column_stack([side.time, side.offset]).astype(np.float64) for side in (above, below))
    # Numbers of about 1 each, as the solver wants them.
    time_scale = max(float(high[:, 0].max()), float(low[:, 0].max()), 1.0)
    middle = float(np.median(high[:, 1]))
    scale = max(float(np.abs(high[:, 1] - middle).max()), float(np.abs(low[:, 1] - middle).max()), 1.0)
    columns = [
        np.column_stack([np.ones(len(side)), side[:, 0] / time_scale, np.full(len(side), sign)])
        for side, sign in ((high, 1.0), (low, -1.0))
    ]
    # offset + drift * time + room <= high, and offset + drift * time - room >= low.
    limits = np.concatenate([(high[:, 1] - middle) / scale, -(low[:, 1] - middle) / scale])
    solution = linprog(
        [0.0, 0.0, -1.0],
        A_ub=np.vstack([columns[0], -columns[1]]),
        b_ub=limits,
        bounds=[(None, None)] * 3,
        method="highs",
    )
    if not solution.success or solution.x is None:
        return None
    offset, drift, room = (float(value) * scale for value in solution.x)
    return _OffsetLine(offset + middle, drift / time_scale, room)


def _refuse_steps(above: _Bounds, below: _Bounds, room: float) -> None:
    """InputError where two stretches of time leave much more room for a line apart than together."""
    begin = max(int(above.time.min()), int(below.time.min()))
    end = min(int(above.time.max()), int(below.time.max()))
    edges = np.linspace(begin, end, SPLITS + 1)[1:-1]
    # A step lies between two neighbours, and neither stretch has it.
    for last, first in zip((begin, *edges), (*edges, end), strict=True):
        before = [bounds.where(bounds.time <= last) for bounds in (above, below)]
        after = [bounds.where(bounds.time > first) for bounds in (above, below)]
        if any(len(bounds.time) < FEWEST_MESSAGES for bounds in (*before, *after)):
            continue
        lines = [_line_between(*before), _line_between(*after)]
        apart = min(line.room if line else 0.0 for line in lines)
        if room < LEAST_ROOM * apart:
            least = f"{LEAST_ROOM:g} of the {apart:.0f} ns of its stretches"
            raise _refused("one was set by less than a round trip", f"room of {room:.0f} ns", least)


def _refused(problem: str, value: object = None, accepted: str = "clocks with a fixed drift") -> InputError:
    return InputError(f"two clocks cannot be compared: {problem}", value=value, accepted=accepted)


ClockVerdict = Literal["shared", "corrected", "unknown", "refused"]
"""``shared``: no message comes before it leaves, one clock to within what is uncertain. ``corrected``:
messages would, and times were taken to the other host's clock. ``unknown``: none does, and there are too few,
or a step between them. ``refused``: messages would, and no clock with a fixed drift explains it."""

MESSAGES = {
    **dict.fromkeys(("from_host", "to_host"), pl.String),
    **dict.fromkeys(("left_ns", "came_ns"), pl.Int64),
}

BINS = 500
"""Stretches into which a trace is divided. Of each, only the quickest message of a direction counts: queues
of a busy link say nothing about clocks."""

_WAYS = ["from_host", "to_host"]


@dataclass(frozen=True)
class HostClock:
    """What was found of ``host`` against a host compared before; ``messages`` are those of the direction
    that has fewer. Without a skew where none can be estimated."""

    host: str
    against: str
    messages: int
    verdict: ClockVerdict
    skew: Skew | None = None
    reason: str | None = None

    def document(self) -> dict[str, Any]:
        """The entry of provenance.json: the offset at the run's time 0, and how wrong it can be."""
        entry: dict[str, Any] = {"host": self.host, "against": self.against, "messages": self.messages}
        entry |= {"verdict": self.verdict}
        if self.skew is not None:
            entry |= {
                "offset_us": _rounded(self.skew.offset_ns / 1e3, 3),
                "drift_ppm": _rounded(self.skew.drift * 1e6, 4),
                "uncertainty_us": _rounded(self.skew.uncertainty_ns / 1e3, 3),
            }
        return entry | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True)
class Clocks:
    """What was found of each host, in the order in which they were compared."""

    hosts: tuple[HostClock, ...]

    @property
    def whole(self) -> bool:
        """Whether times of all hosts can be taken to one clock."""
        return all(clock.verdict != "refused" for clock in self.hosts)

    @property
    def one(self) -> bool:
        """Whether nothing has to be corrected."""
        return all(clock.verdict in ("shared", "unknown") for clock in self.hosts)

    def uncorrected(self) -> Clocks:
        """Verdicts on the clocks for times that cannot be corrected: a host whose times would need it is
        refused."""
        return Clocks(
            tuple(
                replace(clock, verdict="refused") if clock.verdict == "corrected" else clock
                for clock in self.hosts
            )
        )

    def by_one(self, frame: pl.DataFrame, host: str, *times: str) -> pl.DataFrame:
        """``frame`` with its columns ``times``, ns, of the hosts in the column ``host``, by one clock."""
        for clock in self.hosts:
            if clock.verdict == "corrected" and clock.skew is not None:
                frame = _corrected(frame, pl.col(host).cast(pl.String) == clock.host, clock.skew, times)
        return frame


def _corrected(frame: pl.DataFrame, of_host: pl.Expr, skew: Skew, times: tuple[str, ...]) -> pl.DataFrame:
    taken = {name: pl.Series(skew.to_first(frame[name].to_numpy())) for name in times}
    return frame.with_columns(
        pl.when(of_host).then(taken[name]).otherwise(pl.col(name)).alias(name) for name in times
    )


def compare(messages: pl.DataFrame) -> Clocks:
    """Compare the clocks of the hosts in ``messages``, which has the columns :data:`MESSAGES`."""
    directions = messages.partition_by(_WAYS, as_dict=True)
    ways = {key: _quickest(sent) for key, sent in directions.items()}
    sizes = {key: len(sent) for key, sent in directions.items()}
    both = {
        (first, second): min(sizes[first, second], sizes[second, first])
        for first, second in sizes
        if (second, first) in sizes and first != second
    }
    clocks: dict[str, HostClock] = {}
    for against, host in _pairs(both):
        skew = clocks[against].skew if against in clocks and clocks[against].verdict == "corrected" else None
        forth, back = ways[against, host], ways[host, against]
        if skew is not None:
            forth = Messages(skew.to_first(forth.left_ns), forth.came_ns)
            back = Messages(back.left_ns, skew.to_first(back.came_ns))
        clocks[host] = _judged(host, against, both[against, host], forth, back)
    return Clocks(tuple(clocks.values()))


def _pairs(both: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, str]]:
    """Each host but the first of each group that exchanges messages, with the one to compare it with."""
    left = sorted({host for pair in both for host in pair})
    while left:
        group = [max(left, key=lambda host: sum(n for (first, _), n in both.items() if first == host))]
        left.remove(group[0])
        while open_pairs := [(first, second) for first, second in both if first in group and second in left]:
            chosen = max(open_pairs, key=lambda pair: (both[pair], pair))
            group.append(chosen[1])
            left.remove(chosen[1])
            yield chosen


def _quickest(messages: pl.DataFrame) -> Messages:
    """The message that took least time in each of :data:`BINS` stretches."""
    begin, end = int(messages["left_ns"].to_numpy().min()), int(messages["left_ns"].to_numpy().max())
    width = max(1, (end - begin) // BINS)
    taken = pl.col("came_ns") - pl.col("left_ns")
    least = messages.with_columns(bin=(pl.col("left_ns") - begin) // width).sort(taken)
    kept = least.unique("bin", keep="first", maintain_order=True).sort("left_ns")
    return Messages(kept["left_ns"].to_numpy(), kept["came_ns"].to_numpy())


def _judged(host: str, against: str, messages: int, forth: Messages, back: Messages) -> HostClock:
    least_ns = min(int(np.min(way.came_ns - way.left_ns)) for way in (forth, back))
    skew, reason = None, None
    try:
        skew = estimate(forth, back)
    except InputError as refused:
        reason = str(refused)
    verdict: ClockVerdict
    if least_ns >= 0:
        verdict = "shared" if skew is not None else "unknown"
    else:
        verdict = "corrected" if skew is not None else "refused"
    return HostClock(host, against, messages, verdict, skew, reason)


def _rounded(value: float, digits: int) -> float:
    """``value`` with so many digits after the point; there is no negative 0."""
    return round(value, digits) + 0.0
