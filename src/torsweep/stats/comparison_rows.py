"""The rows of a comparison: a measure of a group of downloads, its change, interval and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log1p
from typing import Final, Literal

from torsweep.config.traffic import KIND_NAMES, KINDS
from torsweep.stats.claims.change import EVERYONE, OF_MOST, SHARE_MEASURES
from torsweep.stats.claims.judging import NO_DIFFERENCE
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.text import milliseconds_text, percent_text, points_text

SHOWN: Final = "shown"

Word = Literal["shown", "no difference", "inconclusive"]

BYTES = {"ttfb": "first byte", "ttlb": "last byte"}
STATISTICS = {"paired": "same download", "median": "median", "mean": "mean", "p90": "90th percentile"}
SHARES = {"without_progress": "clients without progress", "failed": "failed downloads"}

GROUP_NAMES = {
    "web": ("web", "Web clients"),
    "onion": ("onion", "Clients of onion services"),
    "small": ("50 KiB", "Small downloads (50 KiB)"),
    "middle": ("1 MiB", "Downloads of 1 MiB"),
    "large": ("5 MiB", "Large downloads (5 MiB)"),
    EVERYONE: ("all", "All clients"),
}
"""What a row calls the downloads of a group, and a sentence."""

MEASURES_HEADER = ("measure", "change", "interval", "verdict")

WIDEST = 3.0
"""A ratio that may be anything between bounds further apart than by this factor says nothing."""


@dataclass(frozen=True)
class Row:
    """A measure of a group of downloads: ``measure`` is ``paired_ttfb``, …, ``p90_ttlb``,
    ``without_progress`` or ``failed``.

    ``interval`` is of the relative change (0.05: 5 % longer), of shares of the difference (0.02: two points),
    and so are ``bound`` and ``by_network``, by seed. ``change_s`` is the mean difference in seconds, NaN for
    shares. ``far_out`` are the seeds of networks far from the others. ``can_show`` has, by the number of
    networks, the change that they show with a chance of 80 %. ``why`` says why there is no interval.
    """

    kind: str
    measure: str
    interval: Interval
    change_s: float
    bound: float
    verdict: Word
    by_network: Mapping[int, float]
    far_out: tuple[int, ...] = ()
    can_show: Mapping[int, float] = field(default_factory=dict)
    why: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it is a difference of shares, in points."""
        return self.measure in SHARE_MEASURES

    @property
    def of_most(self) -> bool:
        """Whether it says what most downloads notice."""
        return self.measure.partition("_")[0] in OF_MOST

    @property
    def says_nothing(self) -> bool:
        """Whether it has no interval, or one so wide that it may be anything."""
        if not self.interval.known:
            return True
        return not self.is_share and (1 + self.interval.high) > WIDEST * (1 + self.interval.low)

    @property
    def is_worse(self) -> bool:
        """Whether times are longer, or more get nothing."""
        return self.interval.mean > 0

    @property
    def size(self) -> float:
        """How far it is from none: a logarithm, of shares points."""
        return abs(self.interval.mean if self.is_share else log1p(self.interval.mean))

    @property
    def statistic(self) -> str:
        """``same download``, ``mean``, ``90th percentile``, or the name of the share."""
        return SHARES.get(self.measure) or STATISTICS[self.measure.rpartition("_")[0]]

    @property
    def byte(self) -> str:
        """``first byte`` or ``last byte``; empty for shares."""
        return "" if self.is_share else BYTES[self.measure.rpartition("_")[2]]

    @property
    def label(self) -> str:
        """``first byte, same download``."""
        return ", ".join(filter(None, [self.byte, self.statistic]))

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Texts for the columns of :data:`MEASURES_HEADER`."""
        # No difference whose interval does not hold 0: there is a change, and it is smaller than the bound.
        is_small = self.verdict == NO_DIFFERENCE and not self.interval.low <= 0 <= self.interval.high
        verdict = self.within_text if is_small else self.verdict
        return f"{short_name(self.kind)}, {self.label}", self.change_text, self.bounds_text, verdict

    @property
    def within_text(self) -> str:
        """``within 5 %``: the bound."""
        return f"within {100 * self.bound:g} {'points' if self.is_share else '%'}"

    @property
    def change_text(self) -> str:
        """``+40.7 % (+640 ms)``, ``+5.8 points``; a dash where a side has no number."""
        if self.interval.mean != self.interval.mean:
            return "–"
        text = self.amount_text(self.interval.mean)
        known = self.change_s == self.change_s
        return f"{text} ({milliseconds_text(self.change_s)})" if known else text

    @property
    def bounds_text(self) -> str:
        """``[+9.3, +81.2] %``; a dash where there are none."""
        if not self.interval.known:
            return "–"
        low, high = (self.amount_text(bound) for bound in (self.interval.low, self.interval.high))
        return f"[{low.partition(' ')[0]}, {high}".replace(" %", "] %").replace(" points", "] points")

    def amount_text(self, amount: float) -> str:
        """A change of this measure: per cents, or points."""
        return points_text(amount) if self.is_share else percent_text(amount)


def short_name(kind: str) -> str:
    """``web``, ``5 MiB``."""
    return GROUP_NAMES[kind][0] if kind in GROUP_NAMES else KIND_NAMES[kind]


def who(kind: str) -> str:
    """``Web clients``, ``Large downloads (5 MiB)``."""
    if kind in GROUP_NAMES:
        return GROUP_NAMES[kind][1]
    name = KIND_NAMES[kind]
    return f"{name[0].upper()}{name[1:]} clients" if kind in KINDS else f"Downloads of {name}"
