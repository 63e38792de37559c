"""Verdicts on the claims of an experiment.

In: the claims of an experiment.yaml, and the :class:`~torsweep.stats.statistic.Analysis` of a plan. Out: a
:class:`Verdict` for each, ``not tested`` where the plan lacks the levels that the claim names.

A claim is split into questions: a number for each network, and the range it should lie in. It **holds** when
the interval of every question shows what it should: an intersection–union test, for which each at 95 % is
enough. It is **contradicted** when at least one shows the opposite in its simultaneous interval, where
Bonferroni over the claim's questions guards against finding one by asking many. There is **no difference**
when every one has its simultaneous interval within ± the margin of no difference. Otherwise it is
**inconclusive**, as it always is with one network, and with two whose spread is not known beforehand.

A claim that there is a change (``any_shows``) is the other way round, a union–intersection test: it holds
when the simultaneous interval of any question shows one, there is no difference when those of all are within
the margin, and more networks may be added for as long as one of its questions is unclear. The simultaneous
intervals of all such claims of a plan cover together, as they are printed together.

Knobs that the claim does not name stay at the baseline's level. Times are compared as logarithms of their
ratio, network by network, so that the result is the same whichever of the two is called the reference (a mean
of ratios is above 1 in both directions when networks vary). Intervals are given as relative differences; a
margin of 5 % is a factor of 1.05 either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from torsweep.stats.claims import Claim
from torsweep.stats.inference.interim import FIXED, Design, IntervalOf
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    FEWEST_FOR_BANDS,
    Interval,
    MaybeNumber,
    exponential,
    fewest_for_median,
    median_interval,
    welch_interval,
)
from torsweep.stats.inference.moderation import Prior, moderated_interval
from torsweep.stats.inference.planning import (
    MULTIPLES,
    equivalence_power,
    power,
    shown_by,
    shown_text,
    size_text,
)
from torsweep.stats.statistic import Analysis, Levels

HOLDS, CONTRADICTED, NOT_TESTED = "holds", "contradicted", "not tested"
NO_DIFFERENCE: Final = "no difference"
INCONCLUSIVE: Final = "inconclusive"

YES, NO, UNCLEAR = "yes", "no", "unclear"
"""What a comparison shows; or :data:`NO_DIFFERENCE`."""

FEWEST_FOR_VERDICTS = 3
"""The fewest networks whose own spread a verdict rests on: with two, which may be alike by chance, the 95 %
interval is 13 times as wide as their spread or has almost no width."""

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


def within_factor(margin: float) -> Reading:
    """Whether a relative difference lies within a factor of 1 + ``margin`` either way."""
    return lambda interval: interval.low > faster(margin) and interval.high < margin


def faster(margin: float) -> float:
    """The relative difference that undoes ``margin``: as far from 0, in logarithms, below it."""
    return 1 / (1 + margin) - 1


@dataclass(frozen=True)
class Behind:
    """The evidence for the answer on a measure of clients (:mod:`torsweep.stats.claims.change`).

    ``by_network`` has the change of each network by its seed; it is empty where the sides are on other
    networks. ``difference_s`` is the mean difference, NaN for shares; ``bound`` what no difference lies
    within; ``far_out`` the seeds of networks that are far from the others.
    """

    measure: str
    by_network: dict[int, MaybeNumber]
    difference_s: MaybeNumber
    bound: float
    far_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """One number a claim rests on, with its interval over networks and what it shows.

    ``required`` is the range it should lie in, and ``contrary`` what the opposite is, as text; ``interval``
    is the one ``shows`` was read from (90 % for an equivalence, the simultaneous one for a change, else
    95 %), ``simultaneous`` covers all questions of the claim. ``shows`` is ``yes``, ``no`` (the opposite),
    ``no difference`` (none as large as the margin) or ``unclear``. ``can_show`` says, by the number of
    networks, what these, and more like them, show with a chance of 80 %, whatever these show; it is empty
    where the spread over networks is not known, or known from fewer than four.
    """

    statement: str
    interval: Interval
    simultaneous: Interval
    required: str
    shows: str
    can_show: dict[int, float] = field(default_factory=dict)
    contrary: str = ""
    behind: Behind | None = None


@dataclass(frozen=True)
class Question:
    """A number for each network, and what its interval would show: ``shown``, ``opposite``, ``nothing`` read
    it.

    ``values`` are in the order in which networks were added, NaN where one has none; where they are
    ``logarithms``, the readings are of what they are logarithms of, less 1. ``counted``: they are counts or
    shares, of which the median over networks counts. ``required`` says in words what ``shown`` asks for, and
    ``contrary`` what ``opposite`` does, as it goes on after the statement. ``keeps_margin``: ``shown`` asks
    that a margin is kept. ``reference``: values of the other side, where that is on other networks.
    ``prior``: what is known of their spread. The questions of a ``group`` divide their part of the error
    evenly.
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
    contrary: str = ""
    keeps_margin: bool = False
    reference: np.ndarray | None = None
    prior: Prior | None = None
    group: str = ""

    def error_share(self, groups: Collection[str]) -> float:
        """The part of the error for the questions of this group; the other ``groups`` have the rest."""
        return 1.0

    def interval(self, confidence: float, design: Design) -> Interval:
        """The interval of the values, corrected for the looks of ``design``."""
        of: IntervalOf = median_interval if self.counted else self._mean_interval
        if self.reference is not None:
            sides = [self.reference, self.values]
            of = lambda _, confidence: welch_interval(sides, (-1, 1), confidence)  # noqa: E731
        interval = design.interval(self.values, confidence, of)
        return exponential(interval) if self.logarithms else interval

    def _mean_interval(self, values: np.ndarray, confidence: float) -> Interval:
        interval = moderated_interval(values, confidence, self.prior)
        if self.prior is None and len(values) < FEWEST_FOR_VERDICTS:
            return replace(interval, low=np.nan, high=np.nan)
        return interval

    def answer(self, together: float, design: Design = FIXED) -> Answer:
        """The answer, whose simultaneous interval has the confidence ``together``."""
        each, simultaneous = (self.interval(level, design) for level in (self.confidence, together))
        shows = self.shows(each, simultaneous)
        contrary = self.contrary or f"not {self.required}"
        can_show = self._can_show(design)
        return Answer(self.statement, each, simultaneous, self.required, shows, can_show, contrary)

    def shows(self, each: Interval, simultaneous: Interval) -> str:
        """What an interval and the simultaneous one show: ``shown`` reads the first, the rest the second."""
        if each.known and self.shown(each):
            return YES
        if simultaneous.known and self.opposite(simultaneous):
            return NO
        if simultaneous.known and self.nothing and self.nothing(simultaneous):
            return NO_DIFFERENCE
        return UNCLEAR

    def _can_show(self, design: Design) -> dict[int, float]:
        many = len(self.values)
        if (
            self.counted
            or self.reference is not None
            or many < (FEWEST_FOR_BANDS if self.prior is None else 2)
            or not np.isfinite(self.values).all()
            or np.ptp(self.values) == 0
        ):
            return {}
        variance, freedom = float(np.var(self.values, ddof=1)), 0.0
        if self.prior is not None:
            variance, freedom = self.prior.variance(variance, many - 1), self.prior.freedom
        # Each number as the next look, but for one that is fixed.
        confidences = {
            number: (design.look(number) if design.interim else design).confidence_at(number, self.confidence)
            for number in (many * each for each in MULTIPLES)
        }
        chance = equivalence_power if self.keeps_margin else power
        sizes = shown_by(variance**0.5, confidences, many - 1 + freedom, chance, freedom)
        return {many: float(np.expm1(size)) for many, size in sizes.items()} if self.logarithms else sizes

    def can_show_text(self, answer: Answer) -> str:
        """A sentence on the change that can be shown, from ``answer``."""
        noun = "change" if self.logarithms else "difference"
        text_of = size_text if self.logarithms else "{:.2g}".format
        sizes = {many: text_of(size) for many, size in answer.can_show.items()}
        return shown_text(sizes, f"no {noun} beyond ±" if self.keeps_margin else f"a {noun} of ")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. ``setting`` names the levels of knobs the plan adds; ``can_show`` says what so
    many networks can show of it at all, by the comparison that varies most."""

    claim: str
    text: str
    test: str
    setting: str
    verdict: str
    reason: str
    comparisons: tuple[Answer, ...] = ()
    any_shows: bool = False
    can_show: str = ""


@dataclass(frozen=True)
class Inquiry:
    """A claim in one setting, with its questions; ``open_because`` says why there are none. ``family`` is how
    many questions of each group the simultaneous intervals cover together; empty: those of the claim."""

    claim: Claim
    setting: str
    questions: tuple[Question, ...]
    open_because: str = ""
    family: Mapping[str, int] = field(default_factory=dict)

    def verdict(self, design: Design = FIXED) -> Verdict:
        """The verdict from all questions, with the looks of ``design``."""
        head = (self.claim.id, self.claim.text, self.claim.test_name(), self.setting)
        if not self.questions:
            return Verdict(*head, NOT_TESTED, self.open_because)
        family, questions = self.family or Counter(each.group for each in self.questions), self.questions
        levels = [1 - (1 - CONFIDENCE) * each.error_share(family) / family[each.group] for each in questions]
        if self.claim.any_shows:
            pairs = zip(questions, levels, strict=True)
            questions = tuple(replace(each, confidence=level) for each, level in pairs)
        answers = tuple(each.answer(level, design) for each, level in zip(questions, levels, strict=True))
        can_show = _can_show(questions, answers)
        verdict, reason = _sum_up(answers, self.claim.any_shows)
        if verdict == INCONCLUSIVE and can_show:
            reason = f"{reason}; {can_show}"
        return Verdict(*head, verdict, reason, answers, self.claim.any_shows, can_show)


def _can_show(questions: Sequence[Question], answers: Sequence[Answer]) -> str:
    """The change that can be shown, by the comparison that varies most; empty if no spread is known."""
    able = [each for each in zip(questions, answers, strict=True) if each[1].can_show]
    widest = max(able, key=lambda each: next(iter(each[1].can_show.values())), default=None)
    return widest[0].can_show_text(widest[1]) if widest else ""


def inquiries(analysis: Analysis) -> Iterator[Inquiry]:
    """One inquiry for each claim, and each setting of the knobs that the plan adds."""
    all_of_plan = [
        ask(aspect, part, part.settings[number], words)
        for claim in analysis.claims
        for number in range(len(analysis.settings))
        for words, aspect in claim.aspects()
        for part in analysis.parts.values()
    ]
    of_changes = [inquiry for inquiry in all_of_plan if inquiry.claim.any_shows]
    for each in all_of_plan:
        beside = [other for other in of_changes if other.setting == each.setting]
        groups = (question.group for other in beside for question in other.questions)
        yield replace(each, family=Counter(groups)) if each.claim.any_shows else each


def verdicts(analysis: Analysis) -> tuple[Verdict, ...]:
    """The verdict on each claim in each setting."""
    return tuple(inquiry.verdict(analysis.design) for inquiry in inquiries(analysis))


def judge(claim: Claim, analysis: Analysis, setting: Levels) -> Verdict:
    """The verdict on ``claim`` where the knobs of ``setting`` are held at its levels."""
    return ask(claim, analysis, setting).verdict(analysis.design)


def ask(claim: Claim, analysis: Analysis, setting: Levels, words: str = "") -> Inquiry:
    """The inquiry of ``claim``, or of its aspect ``words``, with the knobs at the levels of ``setting``."""
    where = ", ".join([*(f"{knob}={level}" for knob, level in setting.items()), *filter(None, [words])])
    if not analysis.provenance.seeds:
        return Inquiry(claim, where, (), f"no network has all {len(analysis.grid)} variants")
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


MOST_NAMED = 3
"""Comparisons that a reason names."""


def _sum_up(answers: Sequence[Answer], any_shows: bool) -> tuple[str, str]:
    """The verdict on a claim that takes all of its answers, or holds if any of them shows it; and why."""
    shown = {shows: [c for c in answers if c.shows == shows] for shows in (YES, NO, NO_DIFFERENCE, UNCLEAR)}
    if shown[NO]:
        named = "; ".join(f"{c.statement}: {c.contrary}" for c in shown[NO][:MOST_NAMED])
        more = f"; and {len(shown[NO]) - MOST_NAMED} more" if len(shown[NO]) > MOST_NAMED else ""
        return CONTRADICTED, f"{len(shown[NO])} of {len(answers)} comparisons contradict it: {named}{more}"
    if len(shown[NO_DIFFERENCE]) == len(answers):
        return NO_DIFFERENCE, _all_show(answers, "no change as large as the margin")
    if len(shown[YES]) == len(answers) and not any_shows:
        return HOLDS, _all_show(answers, "it")
    yes, same, many = len(shown[YES]), len(shown[NO_DIFFERENCE]), len(answers)
    parts = [f"{yes} of {many} comparisons show {'a change' if any_shows else 'it'}"] if yes else []
    parts += [f"{same} of {many} show no change as large as the margin"] if same else []
    parts += [_why_unclear(shown[UNCLEAR], many)] if shown[UNCLEAR] else []
    return HOLDS if any_shows and yes else INCONCLUSIVE, "; ".join(parts)


def _all_show(answers: Sequence[Answer], what: str) -> str:
    many = len(answers)
    return f"all {many} comparisons show {what}" if many > 1 else f"the comparison shows {what}"


def _why_unclear(unclear: Sequence[Answer], answers: int) -> str:
    if all(not c.interval.known and c.interval.networks < FEWEST_FOR_VERDICTS for c in unclear):
        return f"too few networks: a verdict takes {FEWEST_FOR_VERDICTS}, or 2 where their spread is known"
    if all(np.isnan(c.interval.mean) for c in unclear):
        return "a network never reached the quantile, or had too few downloads"
    if all(not c.interval.known for c in unclear):
        fewest = fewest_for_median(unclear[0].interval.confidence)
        return f"an interval of counts, or of values that are all alike, takes {fewest} networks or more"
    return f"{len(unclear)} of {answers} comparisons are unclear"
