"""What a comparison says: sentences, the worst that is shown first, and the rows that they rest on.

In: the verdicts of a summary (:func:`torsweep.stats.verdicts.read_claims`) and the claims. Out:
:class:`Comparison`, which the terminal, the page, summary.md and the text to paste all show in its words.

A verdict is one of three words: *shown* where the interval of any measure excludes 0; *no difference* where
all measures lie within their bounds (:mod:`torsweep.stats.claims.change`), in every network; *inconclusive*
otherwise. Times are of those who get something: where they are shorter, and more clients may get nothing, the
sentence says both, and the direction is not ``better``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from torsweep.stats.claims import Claim
from torsweep.stats.claims.change import EVERYONE, AnyChange
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE, YES, Answer
from torsweep.stats.comparison_rows import SHOWN, STATISTICS, Row, Word, short_name, who
from torsweep.stats.inference.intervals import CONFIDENCE, Interval
from torsweep.stats.inference.planning import size_text
from torsweep.stats.verdicts import ClaimsFile
from torsweep.units import counted

MOST_NAMED = 3
"""Rows of one sort that a sentence names."""

BETTER, WORSE, MIXED, OPEN = "better", "worse", "mixed", "open"


@dataclass(frozen=True)
class KindVerdict:
    """The result for one group of downloads: the verdict, its sentence, and its rows.

    ``direction`` is ``better`` or ``worse`` where all that is shown has one sign, ``mixed`` where it has not,
    ``open`` where times are shorter and more clients may get nothing, and empty where nothing is shown.
    ``secondary``: *no difference* of the page does not wait for it.
    """

    kind: str
    verdict: Word
    direction: str
    words: str
    rows: tuple[Row, ...]
    secondary: bool = False

    @property
    def sentence(self) -> str:
        """What is said of it, by itself."""
        return f"{self.words}." if self.verdict == SHOWN else f"{self.verdict.capitalize()}: {self.words}."

    @property
    def severity(self) -> tuple[bool, bool, float]:
        """A sort key: worse before better, everyone before groups, then larger before smaller."""
        shown = [row for row in self.rows if row.verdict == SHOWN]
        worse = [row.size for row in shown if row.is_worse]
        largest = max(worse or [row.size for row in shown], default=0.0)
        return not worse, self.kind != EVERYONE, -largest


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
    refused: str = ""
    unit: str = "network"

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all kinds."""
        return tuple(row for kind in self.kinds for row in kind.rows)

    @property
    def numbers(self) -> tuple[Row, ...]:
        """The rows with an interval narrow enough to print; the sentences name the others."""
        return tuple(row for row in self.rows if row.verdict == SHOWN or not row.says_nothing)

    @property
    def main_numbers(self) -> tuple[Row, ...]:
        """The rows for a terminal: what is shown, what most downloads notice, and who gets nothing."""
        return tuple(row for row in self.numbers if row.verdict == SHOWN or row.of_most or row.is_share)

    @property
    def verdict(self) -> Word:
        """``shown`` where it is for any group; ``no difference`` where it is for all but secondary ones."""
        if any(kind.verdict == SHOWN for kind in self.kinds):
            return SHOWN
        main = {kind.verdict for kind in self.kinds if not kind.secondary}
        return NO_DIFFERENCE if main == {NO_DIFFERENCE} else INCONCLUSIVE

    @property
    def sentences(self) -> tuple[str, ...]:
        """The worst change first, then no difference, open results, and groups that say nothing."""
        shown = sorted((kind for kind in self.kinds if kind.verdict == SHOWN), key=lambda kind: kind.severity)
        lines = [f"{kind.words}." for kind in shown]
        for verdict in (NO_DIFFERENCE, INCONCLUSIVE):
            kinds = [kind for kind in self.kinds if kind.verdict == verdict]
            alike = [kind.words for kind in kinds if verdict == NO_DIFFERENCE or _wide(kind.rows)]
            if kinds and verdict == INCONCLUSIVE and self.refused:
                alike = [self.refused]
            lines += [f"{verdict.capitalize()}: {'; '.join(alike)}."] if alike else []
        lines += [f"Too little was measured to say anything of {text}." for text in self._says_nothing()]
        lines += _far_out(self.rows)
        return tuple([*(["Provisional: the network still changed."] if self.provisional else []), *lines])

    @property
    def sentence(self) -> str:
        """The result in short: what is shown, or else all sentences."""
        words = [kind for kind in self.kinds if kind.verdict == SHOWN]
        return " ".join(self.sentences[: len(words) + self.provisional] if words else self.sentences)

    def _says_nothing(self) -> Iterator[str]:
        """The rows that say nothing, and why, for each reason."""
        lost = [row for row in self.rows if row.says_nothing and row.verdict != SHOWN]
        for why, of_one in groupby(sorted(lost, key=lambda row: row.why), key=lambda row: row.why):
            by_kind = groupby(of_one, key=lambda row: row.kind)
            named = "; ".join(f"{short_name(kind)}: {_labels(list(rows))}" for kind, rows in by_kind)
            yield f"{named} ({why})" if why else named

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the meaning of the rows and on what their intervals cover."""
        times = "Times count from the request."
        if any(row.measure.startswith("paired") for row in self.rows):
            times = "Same download: how much longer it takes, the mean over the middle half."
        together = f"Intervals: all {len(self.rows)} together with {100 * CONFIDENCE:.0f} %"
        if self.looks:
            together += f", over looks at {', '.join(map(str, self.looks))} {self.unit}s and later ones"
        notes = [
            f"{times} Mean and 90th percentile: of all downloads; one that was cut off counts at least as "
            "long as it waited.",
            f"{together}. Those of no difference: 90 % each, within the bound.",
        ]
        if any(kind.verdict == NO_DIFFERENCE for kind in self.kinds):
            unseen = 1 - (1 - CONFIDENCE) ** (1 / len(self.networks))
            notes.append(
                f"{counted(len(self.networks), self.unit)}: what happens in fewer than {unseen:.0%} of them "
                "may have been missed".replace("%", " %")
            )
        return tuple(notes)

    @cached_property
    def step(self) -> NextStep | None:
        """Twice as many networks, where a group that counts is inconclusive; else None."""
        main = (kind for kind in self.kinds if kind.rows and not kind.secondary)
        first = next((kind for kind in main if kind.verdict == INCONCLUSIVE), None)
        if first is None:
            return None
        networks = 2 * len(self.networks)
        same = [row for row in first.rows if row.of_most and networks in row.can_show]
        return NextStep(networks, {row.label: row.can_show[networks] for row in same})


def is_comparison(asked: Sequence[Claim]) -> bool:
    """Whether a change is asked about: then what came out is a :class:`Comparison`."""
    return any(isinstance(claim, AnyChange) for claim in asked)


def comparison(claims_file: ClaimsFile, asked: Sequence[Claim], unit: str = "network") -> Comparison:
    """The comparison that the verdicts of a summary on the claims ``asked`` give together; ``unit`` is a
    replicate in one word. Where a change did not arrive, or the networks cannot show it, nothing is said to
    make no difference."""
    claims = {claim.id: claim for claim in asked if isinstance(claim, AnyChange)}
    refused = next((claim.cannot_show for claim in claims.values() if claim.cannot_show), "")
    if claims_file.not_arrived:
        lacking = ", ".join(claims_file.not_arrived)
        refused = f"the change did not arrive: tors do not have what {lacking} tells them"
    rows = {
        verdict.claim: tuple(
            _row(claims[verdict.claim].kind, answer, unit, bool(refused)) for answer in verdict.comparisons
        )
        for verdict in claims_file.claims
        if verdict.claim in claims
    }
    shares = [row for of_one in rows.values() for row in of_one if row.is_share]
    kinds = (_judged(claims[name], of_one, shares) for name, of_one in rows.items())
    seeds, drift = claims_file.seeds, bool(claims_file.drift)
    return Comparison(tuple(kinds), seeds, claims_file.interim, drift, refused, unit)


def _row(kind: str, answer: Answer, unit: str, refused: bool) -> Row:
    behind, interval = answer.behind, answer.interval
    assert behind is not None, "a claim of a change says what its answers rest on"
    word: Word = INCONCLUSIVE
    if answer.shows == YES:
        word = SHOWN
    elif answer.shows == NO_DIFFERENCE and not refused:
        word = NO_DIFFERENCE
    why = "" if interval.known else _why_no_interval(interval, behind.measure, unit)
    facts = (behind.difference_s, behind.bound, word, behind.by_network, behind.far_out)
    return Row(kind, behind.measure, interval, *facts, answer.can_show, why)


def _why_no_interval(interval: Interval, measure: str, unit: str) -> str:
    if interval.networks < 2:
        return f"one {unit} has no interval"
    if interval.mean == 0:
        return f"it is the same in every {unit}"
    if interval.mean != interval.mean and measure == "without_progress":
        return "the engine does not say when each client's last byte came"
    return f"in a {unit}, too few downloads got so far"


def _judged(claim: AnyChange, rows: tuple[Row, ...], shares: Sequence[Row]) -> KindVerdict:
    """The verdict from ``rows`` of times and ``shares`` of clients and downloads."""
    shown = sorted((row for row in rows if row.verdict == SHOWN), key=_largest_first)
    if shown:
        direction, words = _shown(claim.kind, rows, shown, shares)
        return KindVerdict(claim.kind, SHOWN, direction, words, rows, claim.secondary)
    if rows and all(row.verdict == NO_DIFFERENCE for row in rows):
        words = f"{who(claim.kind)} ({_bounds(rows)})"
        return KindVerdict(claim.kind, NO_DIFFERENCE, "", words, rows, claim.secondary)
    words = f"{who(claim.kind)}: {_unclear(rows)}"
    return KindVerdict(claim.kind, INCONCLUSIVE, "", words, rows, claim.secondary)


def _largest_first(row: Row) -> float:
    return -row.size


def _shown(kind: str, rows: Sequence[Row], shown: Sequence[Row], shares: Sequence[Row]) -> tuple[str, str]:
    """The direction of what is ``shown`` of a group of downloads, and what is said of it."""
    sooner = [row for row in shown if not row.is_worse]
    worse, better = _changes([row for row in shown if row.is_worse]), _changes(sooner)
    direction = MIXED if worse and better else WORSE if worse else BETTER
    if kind == EVERYONE:
        more = f"More get nothing: {worse}" + (f"; and fewer: {better}" if better else "")
        return direction, more if worse else f"Fewer get nothing: {better}"
    group = who(kind)
    if worse:
        return direction, f"{group}: slower: {worse}" + (f"; and faster: {better}" if better else "")
    if nothing := _nothing(shares):
        return OPEN, f"{group}: faster for those who are served: {better}; {nothing}"
    if mean := next(_open_means(rows, sooner), None):
        unknown = f"but the mean may be anything in {mean.bounds_text}"
        return BETTER, f"{group}: faster for most: {better}; {unknown}"
    return BETTER, f"{group}: faster: {better}"


def _open_means(rows: Sequence[Row], better: Sequence[Row]) -> Iterator[Row]:
    """The means that may be longer by more than their bound, of bytes that come sooner for most."""
    sooner = {row.byte for row in better}
    means = (row for row in rows if row.statistic == STATISTICS["mean"] and row.byte in sooner)
    return (row for row in means if row.verdict == INCONCLUSIVE and row.interval.high > row.bound)


def _nothing(shares: Sequence[Row]) -> str:
    """That more get nothing, or how many more may; empty where it is known that no more than the bound do."""
    worst = max(
        (row for row in shares if row.interval.known),
        key=lambda row: row.interval.high - row.bound,
        default=None,
    )
    if worst is None or worst.interval.high <= worst.bound:
        return ""
    if worst.verdict == SHOWN:
        return f"more get nothing ({worst.statistic} {worst.change_text})"
    return f"up to {100 * worst.interval.high:.1f} points more may get nothing ({worst.statistic})"


def _changes(rows: Sequence[Row]) -> str:
    """``last byte, same download +40.7 % (+640 ms); …``: the first few."""
    named = [f"{row.label} {row.change_text}" for row in rows[:MOST_NAMED]]
    more = [f"and {len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
    return "; ".join([*named, *more])


def _labels(rows: Sequence[Row]) -> str:
    """``same download (first byte, last byte), failed downloads``."""
    parts = []
    for statistic, of_one in groupby(rows, key=lambda row: row.statistic):
        sides = ", ".join(filter(None, (row.byte for row in of_one)))
        parts.append(f"{statistic} ({sides})" if sides else statistic)
    return ", ".join(parts)


def _bounds(rows: Sequence[Row]) -> str:
    """The bounds of each measure as text: ``same download within 5 %, …``."""
    firsts = (next(of_one) for _, of_one in groupby(rows, key=lambda row: row.statistic))
    return ", ".join(f"{row.statistic} {row.within_text}" for row in firsts)


def _wide(rows: Sequence[Row]) -> list[Row]:
    """Open rows whose intervals are narrow enough to mention."""
    return [row for row in rows if row.verdict == INCONCLUSIVE and not row.says_nothing]


def _unclear(rows: Sequence[Row]) -> str:
    """The first few open rows of a group."""
    wide = _wide(rows)
    named = [f"{row.label} may be anything in {row.bounds_text}" for row in wide[:MOST_NAMED]]
    more = [f"so may {len(wide) - MOST_NAMED} more"] if len(wide) > MOST_NAMED else []
    return "; ".join([*named, *more]) or "too little was measured"


def _far_out(rows: Sequence[Row]) -> Iterator[str]:
    """Which networks are far from the others, and in what most."""
    largest: dict[int, Row] = {}
    for row in sorted(rows, key=_largest_first):
        largest.update({seed: row for seed in row.far_out if seed not in largest})
    texts = [
        f"network {seed} ({short_name(row.kind)}, {row.label} {row.amount_text(row.by_network[seed])})"
        for seed, row in sorted(largest.items())
    ]
    if texts:
        yield f"Far from the others: {', '.join(texts)}."
