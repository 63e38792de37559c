"""What a comparison says: a verdict for each kind of client, the rows that it rests on, and what comes next.

In: the verdicts of a summary (:func:`torsweep.stats.verdicts.read_claims`) and the claims. Out:
:class:`Comparison`, which the terminal, the page, summary.md and the text to paste all show in its words.

A verdict is one of three words: *shown* where the interval of any measure excludes 0; *no difference* where
all measures lie within their bounds (:mod:`torsweep.stats.claims.change`), in every network; *inconclusive*
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

from torsweep.config.traffic import KIND_NAMES, KINDS
from torsweep.stats.claims import Claim
from torsweep.stats.claims.change import OF_MOST, SHARE_MEASURES, AnyChange
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE, YES, Answer
from torsweep.stats.inference.intervals import CONFIDENCE, Interval
from torsweep.stats.inference.planning import size_text
from torsweep.stats.text import milliseconds_text, percent_text, points_text
from torsweep.stats.verdicts import ClaimsFile
from torsweep.units import counted

SHOWN = "shown"

Word = Literal["shown", "no difference", "inconclusive"]

BYTES = {"ttfb": "first byte", "ttlb": "last byte"}
STATISTICS = {"paired": "same download", "median": "median", "mean": "mean", "p90": "90th percentile"}
SHARES = {"without_progress": "clients without progress", "failed": "failed downloads"}

MEASURES_HEADER = ("measure", "change", "interval", "verdict")

MOST_NAMED = 3
"""Rows of one sort that a sentence names."""

FASTER, SLOWER = "faster", "slower"
BETTER, WORSE, MIXED = "better", "worse", "mixed"


@dataclass(frozen=True)
class Row:
    """A measure of a kind of client: ``measure`` is ``paired_ttfb``, …, ``p90_ttlb``, ``without_progress`` or
    ``failed``.

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
        return f"{KIND_NAMES[self.kind]}, {self.label}", self.change_text, self.bounds_text, self.verdict

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


@dataclass(frozen=True)
class KindVerdict:
    """What comes out for one kind of client: the verdict, a sentence that says why, and its rows.

    ``direction`` is ``better`` or ``worse`` where all that is shown has one sign, ``mixed`` where it has not,
    and empty where nothing is shown.
    """

    kind: str
    verdict: Word
    direction: str
    sentence: str
    rows: tuple[Row, ...]

    @property
    def who(self) -> str:
        """``Web clients``, ``Downloads of 50 KiB``."""
        return who(self.kind)


@dataclass(frozen=True)
class NextStep:
    """More networks: how many in all, and the change of the same download that they show with a chance of
    80 %, by the label of the row; empty where the spread is not known."""

    networks: int
    shows: Mapping[str, float]

    def text(self, more: str = "") -> str:
        """``--networks 16: about 35 min more, shows 3.1 % (first byte, same download)``; ``more`` is the time
        that it takes, where that is known."""
        sizes = ", ".join(f"{size_text(size)} ({label})" for label, size in self.shows.items())
        parts = [f"{more} more" if more else "", f"shows {sizes}" if sizes else ""]
        return f"--networks {self.networks}: {', '.join(filter(None, parts))}".removesuffix(": ")


@dataclass(frozen=True)
class Comparison:
    """All that a comparison says. ``networks`` are seeds in order, ``looks`` the numbers of networks at which
    it has been looked at; ``provisional`` that the network still changed in the measured time."""

    kinds: tuple[KindVerdict, ...]
    networks: tuple[int, ...]
    looks: tuple[int, ...]
    provisional: bool
    unit: str = "network"

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all kinds."""
        return tuple(row for kind in self.kinds for row in kind.rows)

    @property
    def numbers(self) -> tuple[Row, ...]:
        """The rows that have a number; what has none, and why, is in the sentences."""
        return tuple(row for row in self.rows if row.interval.mean == row.interval.mean)

    @property
    def verdict(self) -> Word:
        """``shown`` where it is for any kind of client, ``no difference`` where that is so for all."""
        words = {kind.verdict for kind in self.kinds}
        if SHOWN in words:
            return "shown"
        return "no difference" if words == {NO_DIFFERENCE} else "inconclusive"

    @property
    def sentence(self) -> str:
        """What came out, in a sentence: each kind of client, in short."""
        parts = [_short(kind) for kind in self.kinds]
        text = "; ".join([*parts[:1], *(f"{part[0].lower()}{part[1:]}" for part in parts[1:])])
        return f"{text} (provisional)." if self.provisional else f"{text}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What the rows are, and what their intervals cover."""
        same = any(row.measure.startswith("paired") for row in self.rows)
        together = f"Intervals: all {len(self.rows)} together with {100 * CONFIDENCE:.0f} %"
        if self.looks:
            looks = ", ".join(map(str, self.looks))
            together += f", over looks at {looks} {self.unit}s and later ones"
        notes = [f"{SAME_DOWNLOAD_NOTE if same else MEDIAN_NOTE} {ALL_NOTE}", together]
        if any(kind.verdict == NO_DIFFERENCE for kind in self.kinds):
            unseen = 1 - (1 - CONFIDENCE) ** (1 / len(self.networks))
            notes.append(
                f"{counted(len(self.networks), self.unit)}: what happens in fewer than {unseen:.0%} of them "
                "may have been missed".replace("%", " %")
            )
        return tuple(notes)

    @cached_property
    def step(self) -> NextStep | None:
        """Twice as many networks, where a kind of client is inconclusive; else None."""
        open_kinds = [kind for kind in self.kinds if kind.verdict == INCONCLUSIVE]
        if not open_kinds:
            return None
        networks = 2 * len(self.networks)
        same = [row for row in open_kinds[0].rows if row.of_most]
        return NextStep(
            networks, {row.label: row.can_show[networks] for row in same if networks in row.can_show}
        )


def is_comparison(asked: Sequence[Claim]) -> bool:
    """Whether a change is asked about: then what came out is a :class:`Comparison`."""
    return any(isinstance(claim, AnyChange) for claim in asked)


SAME_DOWNLOAD_NOTE = "Same download: how much longer it takes, the mean over the middle half."
MEDIAN_NOTE = "Times count from the request."
ALL_NOTE = (
    "Mean and 90th percentile: of all downloads; one that was cut off counts at least as long as it waited."
)


def comparison(claims_file: ClaimsFile, asked: Sequence[Claim], unit: str = "network") -> Comparison:
    """What the verdicts of a summary on the claims that were ``asked`` say together.

    ``unit`` is a replicate in one word. Where a change did not arrive, or the networks cannot show it,
    nothing is said to make no difference.
    """
    claims = {claim.id: claim for claim in asked if isinstance(claim, AnyChange)}
    kinds = []
    for verdict in claims_file.claims:
        if claim := claims.get(verdict.claim):
            rows = tuple(_row(claim.kind, answer, unit) for answer in verdict.comparisons)
            reason = claim.cannot_show
            if claims_file.not_arrived:
                lacking = ", ".join(claims_file.not_arrived)
                reason = f"the change did not arrive: tors do not have what {lacking} tells them"
            kinds.append(_judged(claim.kind, rows, reason))
    return Comparison(tuple(kinds), claims_file.seeds, claims_file.interim, bool(claims_file.drift), unit)


def who(kind: str) -> str:
    """``Web clients``, ``Downloads of 50 KiB``."""
    name = KIND_NAMES[kind]
    return f"{name[0].upper()}{name[1:]} clients" if kind in KINDS else f"Downloads of {name}"


def _row(kind: str, answer: Answer, unit: str) -> Row:
    behind, interval = answer.behind, answer.interval
    assert behind is not None, "a claim of a change says what its answers rest on"
    word: Word = "inconclusive"
    if answer.shows in (YES, NO_DIFFERENCE):
        word = "shown" if answer.shows == YES else "no difference"
    return Row(
        kind,
        behind.measure,
        interval,
        behind.difference_s,
        behind.bound,
        word,
        behind.by_network,
        behind.far_out,
        answer.can_show,
        "" if interval.known else _why_no_interval(interval, behind.measure, unit),
    )


def _why_no_interval(interval: Interval, measure: str, unit: str) -> str:
    if interval.networks < 2:
        return f"one {unit} has no interval"
    if interval.mean == 0:
        return f"it is the same in every {unit}"
    if interval.mean != interval.mean and measure == "without_progress":
        return "the engine does not say when each client's last byte came"
    return f"a {unit} had too few downloads"


def _judged(kind: str, rows: tuple[Row, ...], refused: str) -> KindVerdict:
    """The verdict on ``rows``; ``refused`` says why nothing makes no difference, where that is so."""
    if refused:
        instead: dict[Word, Word] = {"no difference": "inconclusive"}
        rows = tuple(replace(row, verdict=instead.get(row.verdict, row.verdict)) for row in rows)
    shown = [row for row in rows if row.verdict == SHOWN]
    if shown:
        words, direction = _direction(shown)
        parts = "; ".join(_far_out(rows))
        far = f". {parts[0].upper()}{parts[1:]}" if parts else ""
        unclear = [row for row in rows if row.verdict == INCONCLUSIVE]
        rest = f". Inconclusive: {_labels(unclear)}" if unclear else ""
        sentence = f"{who(kind)}: {words}: {_changes(shown)}{far}{rest}."
        return KindVerdict(kind, "shown", direction, sentence, rows)
    if refused:
        return KindVerdict(kind, "inconclusive", "", f"{who(kind)}: inconclusive: {refused}.", rows)
    if rows and all(row.verdict == NO_DIFFERENCE for row in rows):
        return KindVerdict(kind, "no difference", "", f"{who(kind)}: no difference: {_bounds(rows)}.", rows)
    return KindVerdict(kind, "inconclusive", "", f"{who(kind)}: inconclusive: {_why(rows)}.", rows)


def _direction(shown: Sequence[Row]) -> tuple[str, str]:
    """What is shown, in words, and whether it is better, worse or mixed."""
    signs = {row.interval.mean > 0 for row in shown}
    most = {row.interval.mean > 0 for row in shown if row.of_most}
    others = {row.interval.mean > 0 for row in shown if not row.of_most}
    if len(signs) == 1:
        direction = WORSE if signs == {True} else BETTER
        if not most:
            return f"{direction} for some", direction
        return SLOWER if signs == {True} else FASTER, direction
    if (most, others) == ({False}, {True}):
        return "faster for most, worse for the slowest", MIXED
    if (most, others) == ({True}, {False}):
        return "slower for most, better for the slowest", MIXED
    first, last = ({row.interval.mean > 0 for row in shown if row.byte == byte} for byte in BYTES.values())
    if len(first) == len(last) == 1:
        ahead, behind = (FASTER, SLOWER) if first == {False} else (SLOWER, FASTER)
        return f"first bytes {ahead}, last bytes {behind}", MIXED
    return "measures disagree", MIXED


def _changes(rows: Sequence[Row]) -> str:
    """``same download: first byte +40.7 % (+640 ms), last byte …; clients without progress: +5.8 points``."""
    parts = []
    for statistic, of_one in groupby(rows, key=lambda row: row.statistic):
        changes = (f"{row.byte} {row.change_text}".strip() for row in of_one)
        parts.append(f"{statistic}: {', '.join(changes)}")
    return "; ".join(parts)


def _labels(rows: Sequence[Row]) -> str:
    """``same download (first byte, last byte), failed downloads``."""
    parts = []
    for statistic, of_one in groupby(rows, key=lambda row: row.statistic):
        sides = ", ".join(filter(None, (row.byte for row in of_one)))
        parts.append(f"{statistic} ({sides})" if sides else statistic)
    return ", ".join(parts)


def _bounds(rows: Sequence[Row]) -> str:
    """What each measure lies within: ``same download within 5 %, …``."""
    firsts = (next(of_one) for _, of_one in groupby(rows, key=lambda row: row.statistic))
    units = {True: "points", False: "%"}
    return ", ".join(f"{row.statistic} within {100 * row.bound:g} {units[row.is_share]}" for row in firsts)


def _far_out(rows: Sequence[Row]) -> Iterator[str]:
    """Which networks are far from the others, and in what."""
    for seed in dict.fromkeys(seed for row in rows for seed in row.far_out):
        named = [row for row in rows if seed in row.far_out]
        texts = [f"{row.label} {row.amount_text(row.by_network[seed])}" for row in named[:MOST_NAMED]]
        yield f"network {seed} is far from the others ({'; '.join(texts)})"


def _why(rows: Sequence[Row]) -> str:
    """Why a kind of client is inconclusive."""
    parts = list(_far_out(rows))
    unclear = [row for row in rows if row.verdict == INCONCLUSIVE]
    wide = [row for row in unclear if row.interval.known and not row.far_out]
    parts += [f"{row.label} may be anything in {row.bounds_text}" for row in wide[:MOST_NAMED]]
    parts += [f"so may {len(wide) - MOST_NAMED} more"] if len(wide) > MOST_NAMED else []
    without = sorted((row for row in unclear if not row.interval.known), key=lambda row: row.why)
    for why, of_one in groupby(without, key=lambda row: row.why):
        parts.append(f"{_labels(list(of_one))}: {why}")
    return "; ".join(parts)


def _short(kind: KindVerdict) -> str:
    """``Web clients: slower (first byte, same download +40.7 %, +640 ms)``."""
    shown = [row for row in kind.rows if row.verdict == SHOWN]
    if not shown:
        return f"{kind.who}: {kind.verdict}"
    first = shown[0]
    change = first.change_text.replace(" (", ", ").removesuffix(")")
    return f"{kind.who}: {_direction(shown)[0]} ({first.label} {change})"
