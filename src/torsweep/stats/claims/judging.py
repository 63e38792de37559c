"""Verdicts on the claims of an experiment.

In: the claims of an experiment.yaml, and the :class:`~torsweep.stats.statistic.Analysis` of a plan. Out: a
:class:`Verdict` for each: ``holds``, ``contradicted``, ``no difference``, ``inconclusive``, or ``not tested``
where the plan lacks the levels that the claim names.

A claim is split into questions: a number for each network, and the range it should lie in. It **holds** when
the interval of every question shows what it should: an intersection–union test, for which each at 95 % is
enough. It is **contradicted** when at least one shows the opposite in its simultaneous interval, where
Bonferroni over the claim's questions guards against finding one by asking many. There is **no difference**
when none is contradicted and at least one has its simultaneous interval within ± the margin of no difference:
the claim then cannot hold by more than the margin. Otherwise it is **inconclusive**, as it always is with one
network; the reason then says how many networks would say more. Knobs that the claim does not name stay at the
baseline's level.

A claim that there is a change (``any_shows``) is the other way round, a union–intersection test: it holds
when the simultaneous interval of any question shows one, there is no difference when those of all are within
the margin, and more networks are asked for as long as one of its questions is unclear.

Times are compared as logarithms of their ratio, network by network: a network where the variant takes twice
as long weighs as much as one where it takes half, and the mean of differences is the same whichever of the
two is called the reference (a mean of ratios is above 1 in both directions when networks vary). Intervals are
worked out on the logarithms and given as relative differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from torsweep.stats.claims.claim import Claim
from torsweep.stats.inference.interim import FIXED, Design, IntervalOf
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    MOST,
    Interval,
    bonferroni,
    exponential,
    fewest_for_median,
    median_interval,
    networks_to_halve,
    networks_to_show,
    t_interval,
)
from torsweep.stats.statistic import Analysis, Levels

HOLDS, CONTRADICTED, NO_DIFFERENCE = "holds", "contradicted", "no difference"
INCONCLUSIVE, NOT_TESTED = "inconclusive", "not tested"

YES, NO, NOTHING, UNCLEAR = "yes", "no", "no difference", "unclear"

Reading = Callable[[Interval], bool]


def above(edge: float) -> Reading:
    """Whether an interval lies above ``edge``."""
    return lambda interval: interval.low > edge


def below(edge: float) -> Reading:
    """Whether an interval lies below ``edge``."""
    return lambda interval: interval.high < edge


def within(margin: float) -> Reading:
    """Whether an interval lies within ± ``margin``."""
    return lambda interval: interval.low > -margin and interval.high < margin


@dataclass(frozen=True)
class Answer:
    """One number a claim rests on, with its interval over networks and what it shows.

    ``required`` is the range it should lie in, as text; ``interval`` is the one ``shows`` was read from (90 %
    for an equivalence, the simultaneous one for a change, else 95 %), ``simultaneous`` covers all questions
    of the claim. ``shows`` is ``yes``, ``no`` (the opposite), ``no difference`` (none as large as the margin)
    or ``unclear``. Of an unclear one, ``networks_for`` says about how many networks would make it each of
    these, where an answer that the values do not point to is left out, and ``halved_by`` how many would halve
    ``interval``; None where there is none, or no number would.
    """

    statement: str
    interval: Interval
    simultaneous: Interval
    required: str
    shows: str
    networks_for: dict[str, int]
    halved_by: int | None = None

    @property
    def decided_by(self) -> int | None:
        """About how many networks would decide an unclear answer, either way; None where none would."""
        return min(self.networks_for.values(), default=None)


@dataclass(frozen=True)
class Question:
    """A number for each network, and what its interval would show: ``shown``, ``opposite``, ``nothing`` read
    it.

    ``values`` are in the order in which networks were added, NaN where one has none; where they are
    ``logarithms``, the readings are of what they are logarithms of, less 1. ``counted``: they are counts or
    shares, of which the median over networks counts. ``required`` says in words what ``shown`` asks for.
    """

    statement: str
    values: np.ndarray
    required: str
    shown: Reading
    opposite: Reading
    nothing: Reading | None = None
    confidence: float = CONFIDENCE
    logarithms: bool = False
    counted: bool = False

    def answer(self, together: float, design: Design = FIXED) -> Answer:
        """The answer, whose simultaneous interval has the confidence ``together``."""
        of: IntervalOf = median_interval if self.counted else t_interval
        each = self._relative(design.interval(self.values, self.confidence, of))
        simultaneous = self._relative(design.interval(self.values, together, of))
        shows = self.shows(each, simultaneous)
        said = (self.statement, each, simultaneous, self.required, shows)
        if shows != UNCLEAR or len(self.values) < 2 or not np.isfinite(self.values).all():
            return Answer(*said, {})
        halved = networks_to_halve(self.values, self.counted, self.confidence) if each.known else None
        return Answer(*said, self._networks_for(together), halved)

    def shows(self, each: Interval, simultaneous: Interval) -> str:
        """What an interval and the simultaneous one show: ``shown`` reads the first, the rest the second."""
        if each.known and self.shown(each):
            return YES
        if simultaneous.known and self.opposite(simultaneous):
            return NO
        if simultaneous.known and self.nothing and self.nothing(simultaneous):
            return NOTHING
        return UNCLEAR

    def _networks_for(self, together: float) -> dict[str, int]:
        readings = (
            (YES, self.shown, self.confidence),
            (NO, self.opposite, together),
            (NOTHING, self.nothing, together),
        )
        found: dict[str, int] = {}
        for name, reading, confidence in readings:
            if reading is not None:
                relative = _of_relative(reading) if self.logarithms else reading
                needed = networks_to_show(self.values, self.counted, confidence, relative)
                found |= {} if needed is None else {name: needed}
        return found

    def _relative(self, interval: Interval) -> Interval:
        return exponential(interval) if self.logarithms else interval


def _of_relative(reading: Reading) -> Reading:
    return lambda interval: reading(exponential(interval))


@dataclass(frozen=True)
class Verdict:
    """What the plan says about a claim. ``setting`` names the levels of knobs the plan adds."""

    claim: str
    text: str
    test: str
    setting: str
    verdict: str
    reason: str
    comparisons: tuple[Answer, ...] = ()
    any_shows: bool = False

    @property
    def open(self) -> bool:
        """Whether more networks could decide the claim: it is inconclusive, or each of its comparisons counts
        for itself and one is unclear, and no number is missing."""
        unclear = [c for c in self.comparisons if c.shows == UNCLEAR]
        undecided = self.verdict == INCONCLUSIVE or self.any_shows
        return undecided and not all(np.isnan(c.interval.mean) for c in unclear)


@dataclass(frozen=True)
class Inquiry:
    """A claim in one setting, with the questions it comes to; ``open_because`` says why there are none."""

    claim: Claim
    setting: str
    questions: tuple[Question, ...]
    open_because: str = ""

    def verdict(self, design: Design = FIXED) -> Verdict:
        """What the questions say together, in a sweep of ``design``."""
        head = (self.claim.id, self.claim.text, self.claim.test_name(), self.setting)
        if not self.questions:
            return Verdict(*head, NOT_TESTED, self.open_because)
        together, questions = bonferroni(CONFIDENCE, len(self.questions)), self.questions
        if self.claim.any_shows:
            questions = tuple(replace(question, confidence=together) for question in questions)
        answers = tuple(question.answer(together, design) for question in questions)
        sum_up = _sum_up_any if self.claim.any_shows else _sum_up
        return Verdict(*head, *sum_up(answers), answers, self.claim.any_shows)


def inquiries(analysis: Analysis) -> Iterator[Inquiry]:
    """What each claim comes to, in each setting of the knobs that the plan adds."""
    for claim in analysis.claims:
        for setting in analysis.settings:
            yield ask(claim, analysis, setting)


def verdicts(analysis: Analysis) -> tuple[Verdict, ...]:
    """What the plan says about each claim in each setting."""
    return tuple(inquiry.verdict(analysis.design) for inquiry in inquiries(analysis))


def judge(claim: Claim, analysis: Analysis, setting: Levels) -> Verdict:
    """The verdict on ``claim`` where the knobs of ``setting`` are held at its levels."""
    return ask(claim, analysis, setting).verdict(analysis.design)


def ask(claim: Claim, analysis: Analysis, setting: Levels) -> Inquiry:
    """What ``claim`` comes to in a plan where the knobs of ``setting`` are held at its levels."""
    where = ", ".join(f"{knob}={level}" for knob, level in setting.items())
    missing = _missing(claim, analysis.levels)
    if missing:
        return Inquiry(claim, where, (), f"this plan has no {missing}")
    fixed = {**analysis.baseline, **setting}
    places: list[Levels] = [fixed]
    if isinstance(claim.within, str):
        places = [{**fixed, claim.within: level} for level in analysis.levels[claim.within]]
    elif claim.within is not None:
        places = [{**fixed, **claim.within}]
    questions = [question for levels in places for question in claim.questions(analysis, levels)]
    return Inquiry(claim, where, tuple(questions), f"this plan has one level of {claim.knob}")


def _missing(claim: Claim, knobs: Mapping[str, Sequence[str]]) -> str:
    for knob in claim.knobs_named():
        if knob not in knobs:
            return f"knob {knob}"
    for knob, level in claim.levels_named():
        if level not in knobs[knob]:
            return f"level {knob}={level}"
    return ""


def place_text(claim: Claim, levels: Levels) -> str:
    """``levels`` as the reader of a statement needs them: only what the claim varies or fixes."""
    return "".join(f", {knob} {levels[knob]}" for knob in claim.knobs_named()[1:])


def other_levels(claim: Claim, analysis: Analysis, level: str) -> list[str]:
    """The levels of the claim's knob but ``level``."""
    return [other for other in analysis.levels[claim.knob] if other != level]


def _sum_up(answers: Sequence[Answer]) -> tuple[str, str]:
    shown = {shows: [c for c in answers if c.shows == shows] for shows in (NO, NOTHING, UNCLEAR)}
    if shown[NO]:
        return CONTRADICTED, f"{len(shown[NO])} of {len(answers)} comparisons show the opposite"
    if shown[NOTHING]:
        many = f"{len(shown[NOTHING])} of {len(answers)} comparisons"
        return NO_DIFFERENCE, f"{many} show no change as large as the margin"
    unclear = shown[UNCLEAR]
    if not unclear:
        return HOLDS, f"all {len(answers)} comparisons show it"
    return INCONCLUSIVE, _why_unclear(unclear, len(answers))


def _sum_up_any(answers: Sequence[Answer]) -> tuple[str, str]:
    """What the answers of a claim come to that holds when any of them shows it."""
    shown, nothing, unclear = ([c for c in answers if c.shows == shows] for shows in (YES, NOTHING, UNCLEAR))
    many = len(answers)
    open_because = _why_unclear(unclear, many, each=True) if unclear else ""
    if shown:
        rest = [f"{len(nothing)} show no change as large as the margin"] if nothing else []
        rest += [open_because] if unclear else []
        return HOLDS, "; ".join([f"{len(shown)} of {many} comparisons show a change", *rest])
    if unclear:
        return INCONCLUSIVE, open_because
    return NO_DIFFERENCE, f"all {many} comparisons show no change as large as the margin"


def _why_unclear(unclear: Sequence[Answer], answers: int, each: bool = False) -> str:
    """Why so many of ``answers`` are unclear, and how many networks would decide the claim, or ``each`` of
    them."""
    if all(c.interval.networks < 2 for c in unclear):
        return "fewer than two networks to compare"
    if all(np.isnan(c.interval.mean) for c in unclear):
        return "a network never reached the quantile, or had too few downloads"
    many = f"{len(unclear)} of {answers} comparisons are unclear"
    if all(not c.interval.known for c in unclear):
        fewest = fewest_for_median(unclear[0].interval.confidence)
        many = f"an interval of counts, or of values that are all alike, takes {fewest} networks or more"
    return f"{many}; {_networks_needed(unclear, _for_each(unclear) if each else _for_one_verdict(unclear))}"


def _for_one_verdict(unclear: Sequence[Answer]) -> int | None:
    """About how many networks decide a claim that takes all answers: one is enough against it."""
    enough = [c.networks_for[shows] for c in unclear for shows in (NO, NOTHING) if shows in c.networks_for]
    if all(YES in c.networks_for for c in unclear):
        enough.append(max(c.networks_for[YES] for c in unclear))
    return min(enough, default=None)


def _for_each(unclear: Sequence[Answer]) -> int | None:
    """About how many networks decide every one of these answers."""
    needed = [c.decided_by for c in unclear if c.decided_by is not None]
    return max(needed) if len(needed) == len(unclear) else None


def _networks_needed(unclear: Sequence[Answer], enough: int | None) -> str:
    """How many networks would halve the intervals, and that about ``enough`` would decide the claim."""
    if enough is None and any(np.isnan(c.interval.mean) for c in unclear):
        return "how many networks would decide it cannot be told, as a network lacks a value"
    decide = f"about {enough:,}" if enough is not None else f"more than {MOST:,}"
    wide = [c for c in unclear if c.interval.known and c.interval.high > c.interval.low]
    if not wide:
        return f"{decide} networks would decide it"
    halves = [c.halved_by for c in wide if c.halved_by is not None]
    half = f"{max(halves):,}" if len(halves) == len(wide) else f"more than {MOST:,}"
    return f"{half} networks would halve their intervals, {decide} would decide it"
