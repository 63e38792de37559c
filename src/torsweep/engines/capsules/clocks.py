"""Whether the clocks of all hosts of a trace are one, as far as messages between them show; if not, times are
taken to the first host's clock.

In: messages between hosts, each with when it left by its sender's clock and when it came by its receiver's:
cells that one relay wrote and the next one read, packets that both ends captured. Out: :class:`Clocks`, which
takes times of each host to one clock, and says of each host what was found.

Hosts are compared one after the other, each with the one that it has most messages with among those that
were compared before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from torsweep.engines.capsules.host_clocks import Messages, Skew, estimate
from torsweep.errors import InputError

Verdict = Literal["shared", "corrected", "unknown", "refused"]

VERDICTS: Mapping[Verdict, str] = {
    "shared": "no message comes before it leaves: one clock, to within what is uncertain",
    "corrected": "messages would come before they leave: times were taken to the other host's clock",
    "unknown": "no message comes before it leaves, and there are too few, or a step between them",
    "refused": "messages would come before they leave, and no clock with a fixed drift explains it",
}
"""The verdicts on a host's clock against another's."""

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
    verdict: Verdict
    skew: Skew | None = None
    reason: str | None = None

    def document(self) -> dict[str, Any]:
        """The entry of provenance.json: the offset at the run's time 0, and how wrong it can be."""
        found: dict[str, Any] = {"host": self.host, "against": self.against, "messages": self.messages}
        found |= {"verdict": self.verdict}
        if self.skew is not None:
            found |= {
                "offset_us": _rounded(self.skew.offset_ns / 1e3, 3),
                "drift_ppm": _rounded(self.skew.drift * 1e6, 4),
                "uncertainty_us": _rounded(self.skew.uncertainty_ns / 1e3, 3),
            }
        return found | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True)
class Clocks:
    """What was found of each host, in the order in which they were compared."""

    found: tuple[HostClock, ...]

    @property
    def whole(self) -> bool:
        """Whether times of all hosts can be taken to one clock."""
        return all(clock.verdict != "refused" for clock in self.found)

    @property
    def one(self) -> bool:
        """Whether nothing has to be corrected."""
        return all(clock.verdict in ("shared", "unknown") for clock in self.found)

    def uncorrected(self) -> Clocks:
        """The same verdicts for times that cannot be corrected: a host whose times would need it is
        refused."""
        return Clocks(
            tuple(
                replace(clock, verdict="refused") if clock.verdict == "corrected" else clock
                for clock in self.found
            )
        )

    def by_one(self, frame: pl.DataFrame, host: str, *times: str) -> pl.DataFrame:
        """``frame`` with its columns ``times``, ns, of the hosts in the column ``host``, by one clock."""
        for clock in self.found:
            if clock.verdict == "corrected" and clock.skew is not None:
                frame = _corrected(frame, pl.col(host).cast(pl.String) == clock.host, clock.skew, times)
        return frame


def _corrected(frame: pl.DataFrame, own: pl.Expr, skew: Skew, times: tuple[str, ...]) -> pl.DataFrame:
    taken = {name: pl.Series(skew.to_first(frame[name].to_numpy())) for name in times}
    return frame.with_columns(
        pl.when(own).then(taken[name]).otherwise(pl.col(name)).alias(name) for name in times
    )


def compare(messages: pl.DataFrame) -> Clocks:
    """Compare the clocks of the hosts in ``messages``, which has the columns :data:`MESSAGES`."""
    directions = messages.partition_by(_WAYS, as_dict=True)
    ways = {key: _quickest(own) for key, own in directions.items()}
    sizes = {key: len(own) for key, own in directions.items()}
    both = {
        (first, second): min(sizes[first, second], sizes[second, first])
        for first, second in sizes
        if (second, first) in sizes and first != second
    }
    found: dict[str, HostClock] = {}
    for against, host in _pairs(both):
        skew = found[against].skew if against in found and found[against].verdict == "corrected" else None
        there, back = ways[against, host], ways[host, against]
        if skew is not None:
            there = Messages(skew.to_first(there.left_ns), there.came_ns)
            back = Messages(back.left_ns, skew.to_first(back.came_ns))
        found[host] = _judged(host, against, both[against, host], there, back)
    return Clocks(tuple(found.values()))


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


def _quickest(own: pl.DataFrame) -> Messages:
    """The message that took least time in each of :data:`BINS` stretches."""
    begin, end = int(own["left_ns"].to_numpy().min()), int(own["left_ns"].to_numpy().max())
    width = max(1, (end - begin) // BINS)
    taken = pl.col("came_ns") - pl.col("left_ns")
    least = own.with_columns(bin=(pl.col("left_ns") - begin) // width).sort(taken)
    kept = least.unique("bin", keep="first", maintain_order=True).sort("left_ns")
    return Messages(kept["left_ns"].to_numpy(), kept["came_ns"].to_numpy())


def _judged(host: str, against: str, messages: int, there: Messages, back: Messages) -> HostClock:
    least_ns = min(int(np.min(way.came_ns - way.left_ns)) for way in (there, back))
    skew, reason = None, None
    try:
        skew = estimate(there, back)
    except InputError as refused:
        reason = str(refused)
    verdict: Verdict
    if least_ns >= 0:
        verdict = "shared" if skew is not None else "unknown"
    else:
        verdict = "corrected" if skew is not None else "refused"
    return HostClock(host, against, messages, verdict, skew, reason)


def _rounded(value: float, digits: int) -> float:
    """``value`` with so many digits after the point; there is no negative 0."""
    return round(value, digits) + 0.0
