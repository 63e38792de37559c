"""Verdicts on the claims of an experiment.

In: quantiles of each run, stair-steps of each run, and the claims of an experiment.yaml. Out: a
:class:`Verdict` for each: ``holds``, ``contradicted``, ``inconclusive``, or ``not tested`` where the plan
lacks the levels that the claim names.

A claim is split into comparisons, each a relative difference of medians (or a depth) with a t-interval
over networks. It **holds** when every comparison shows what it should: an intersection–union test, for
which each comparison at 95 % is enough. It is **contradicted** when at least one shows the opposite in its
simultaneous interval, where Bonferroni over the claim's comparisons guards against finding one by
looking at many. Otherwise it is **inconclusive**, as it always is with one network.

- ``best_level``, ``worst_level``: each other level against the claimed one. Shown: its interval lies above 0
  (below, for the worst). The opposite: it lies below (above).
- ``equivalence``: each other level of the knob against the baseline's. Shown: two one-sided tests at 5 %
  (Schuirmann 1987), that is, the 90 % interval lies within ± margin. The opposite: the simultaneous
  interval lies outside.
- ``starvation``: how many streams starve (:mod:`torsweep.stats.starvation`): as many as are not among the
  ``count`` served, one more or one less, and of the first ``count`` to complete more than half are of those
  that should be served; or, where all are served, less than one starves on average.
- ``starvation_threshold``: at each level up to the first bound, at least one stream starves on average; at
  each from the second on, less than one.
- ``stair_step``: the depth (:mod:`torsweep.stats.stairs`) of the claimed level at its own period, which
  has to be visible; that of every other level, at its own period and at the claimed one, which must not
  be; and that it is deeper than each other level's at the claimed period, paired by network.

Knobs that the claim does not name stay at the baseline's level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from torsweep.config.claims import (
    BestLevel,
    Claim,
    Equivalence,
    StairStep,
    Starvation,
    StarvationThreshold,
    WorstLevel,
)
from torsweep.stats.differences import paired
from torsweep.stats.intervals import CONFIDENCE, Interval, bonferroni
from torsweep.stats.questions import Comparison, Question
from torsweep.stats.stairs import VISIBLE_DEPTH
from torsweep.stats.starvation import Fairness

HOLDS, CONTRADICTED, INCONCLUSIVE, NOT_TESTED = "holds", "contradicted", "inconclusive", "not tested"

Levels = Mapping[str, str]
DepthOf = Callable[[str, str, Levels, str], np.ndarray]
"""(kind, metric, variant, level that is the period) → depth of the stair-step, one a network."""


@dataclass(frozen=True)
class Verdict:
    """What the plan says about a claim. ``setting`` names the levels of knobs the plan adds."""

    claim: str
    text: str
    test: str
    setting: str
    verdict: str
    reason: str
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What claims are judged by.

    ``runs`` are the quantiles of each run, ``knobs`` the plan's levels, ``baseline`` its baseline;
    ``fairness`` is who starved, in plans with a table of progress.
    """

    runs: pl.DataFrame
    knobs: Mapping[str, Sequence[str]]
    baseline: Levels
    depth_of: DepthOf
    fairness: Fairness | None = None
    medians: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)

    def median_ratio(self, metric: str, kind: str, reference: Levels, variant: Levels) -> np.ndarray:
        """Relative difference of the medians of ``variant`` and ``reference``, one a network."""
        chosen = self.medians.setdefault(
            (metric, kind),
            self.runs.filter(pl.col("metric") == metric, pl.col("kind").cast(pl.String) == kind),
        )
        return paired(chosen, "median_s", reference, variant).relative


def judge(claim: Claim, evidence: Evidence, setting: Levels) -> Verdict:
    """The verdict on ``claim`` where the knobs of ``setting`` are held at its levels."""
    where = ", ".join(f"{knob}={level}" for knob, level in setting.items())
    head = (claim.id, claim.text, claim.test, where)
    missing = _missing(claim, evidence)
    if missing:
        return Verdict(*head, NOT_TESTED, f"this plan has no {missing}")
    questions: list[Question] = []
    for context in _contexts(claim, evidence, setting):
        questions += _QUESTIONS[type(claim)](claim, evidence, context)
    if not questions:
        return Verdict(*head, NOT_TESTED, f"this plan has one level of {claim.knob}")
    together = bonferroni(CONFIDENCE, len(questions))
    comparisons = tuple(question.answer(together) for question in questions)
    return Verdict(*head, *_sum_up(comparisons), comparisons)


def _missing(claim: Claim, evidence: Evidence) -> str:
    for knob in claim.knobs_named():
        if knob not in evidence.knobs:
            return f"knob {knob}"
    for knob, level in claim.levels_named():
        if level not in evidence.knobs[knob]:
            return f"level {knob}={level}"
    return ""


def _contexts(claim: Claim, evidence: Evidence, setting: Levels) -> list[dict[str, str]]:
    """The levels of all knobs but the claim's own, once for each place where the claim is to hold."""
    fixed = {**evidence.baseline, **setting}
    if claim.within is None:
        return [fixed]
    if isinstance(claim.within, str):
        return [{**fixed, claim.within: level} for level in evidence.knobs[claim.within]]
    return [{**fixed, **claim.within}]


def _place(claim: Claim, context: Levels) -> str:
    """The context as the reader of a comparison needs it: only what the claim varies or fixes."""
    named = claim.knobs_named()[1:]
    return "".join(f", {knob} {context[knob]}" for knob in named)


def _others(claim: Claim, evidence: Evidence, level: str) -> list[str]:
    return [other for other in evidence.knobs[claim.knob] if other != level]


def _extreme(claim: BestLevel | WorstLevel, evidence: Evidence, context: Levels) -> list[Question]:
    best = isinstance(claim, BestLevel)
    above, below = (lambda i: i.low > 0), (lambda i: i.high < 0)
    return [
        Question(
            f"{claim.kind} {metric}: {other} against {claim.level}{_place(claim, context)}",
            evidence.median_ratio(
                metric, claim.kind, {**context, claim.knob: claim.level}, {**context, claim.knob: other}
            ),
            "> 0" if best else "< 0",
            above if best else below,
            below if best else above,
        )
        for metric in claim.metrics
        for other in _others(claim, evidence, claim.level)
    ]


def _equivalent(claim: Equivalence, evidence: Evidence, context: Levels) -> list[Question]:
    margin, reference = claim.margin, evidence.baseline[claim.knob]
    return [
        Question(
            f"{claim.kind} {claim.metric}: {other} against {reference}{_place(claim, context)}",
            evidence.median_ratio(
                claim.metric, claim.kind, {**context, claim.knob: reference}, {**context, claim.knob: other}
            ),
            f"within ±{margin:g}",
            lambda i: i.low > -margin and i.high < margin,
            lambda i: i.low > margin or i.high < -margin,
            confidence=1 - 2 * (1 - CONFIDENCE),
        )
        for other in _others(claim, evidence, reference)
    ]


def _stair_step(claim: StairStep, evidence: Evidence, context: Levels) -> list[Question]:
    def depths(level: str, period: str) -> np.ndarray:
        return evidence.depth_of(claim.kind, claim.metric, {**context, claim.knob: level}, period)

    def visible(interval: Interval) -> bool:
        return interval.low > VISIBLE_DEPTH

    def hidden(interval: Interval) -> bool:
        return interval.high < VISIBLE_DEPTH

    level, place, edge = claim.level, _place(claim, context), f"{VISIBLE_DEPTH:.3f}"
    claimed = depths(level, level)
    questions = [Question(f"depth at {level}{place}", claimed, f"> {edge}", visible, hidden)]
    for other in _others(claim, evidence, level):
        for period in (other, level):
            name = f"depth at {other}, period {period}{place}"
            questions.append(Question(name, depths(other, period), f"< {edge}", hidden, visible))
        deeper = claimed - depths(other, level)
        name = f"depth at {level} less that at {other}, period {level}{place}"
        questions.append(Question(name, deeper, "> 0", lambda i: i.low > 0, lambda i: i.high < 0))
    return questions


def _starvation(claim: Starvation, evidence: Evidence, context: Levels) -> list[Question]:
    assert evidence.fairness is not None, "an experiment with this test has a table of progress"
    here, place = {**context, claim.knob: claim.level}, f"{claim.level}{_place(claim, context)}"
    starved, streams = evidence.fairness.starved(claim.kind, here)
    if claim.count is None:
        return [_at_most_one("starved", place, starved)]
    middle = streams - claim.count
    served = evidence.fairness.served_share(claim.kind, here, claim.served, claim.count)
    name = f"of the first {claim.count} to complete, opened {claim.served}, {place}"
    return [
        Question(
            f"starved less those not among {claim.count} served, {place}",
            starved - middle,
            "within ±1",
            lambda i: i.low >= -1 and i.high <= 1,
            lambda i: i.low > 1 or i.high < -1,
        ),
        Question(name, served, "> 0.5", lambda i: i.low > 0.5, lambda i: i.high < 0.5),
    ]


def _threshold(claim: StarvationThreshold, evidence: Evidence, context: Levels) -> list[Question]:
    assert evidence.fairness is not None, "an experiment with this test has a table of progress"
    levels = list(evidence.knobs[claim.knob])
    last, first = levels.index(claim.starved_up_to), levels.index(claim.none_from)
    questions = []
    for position, level in enumerate(levels):
        starved, _ = evidence.fairness.starved(claim.kind, {**context, claim.knob: level})
        place = f"{level}{_place(claim, context)}"
        if position <= last:
            some = Question(f"starved, {place}", starved, "≥ 1", lambda i: i.low >= 1, lambda i: i.high < 1)
            questions.append(some)
        elif position >= first:
            questions.append(_at_most_one("starved", place, starved))
    return questions


def _at_most_one(what: str, place: str, values: np.ndarray) -> Question:
    return Question(f"{what}, {place}", values, "< 1", lambda i: i.high < 1, lambda i: i.low >= 1)


_QUESTIONS: dict[type, Callable[..., list[Question]]] = {
    BestLevel: _extreme,
    WorstLevel: _extreme,
    Equivalence: _equivalent,
    StairStep: _stair_step,
    Starvation: _starvation,
    StarvationThreshold: _threshold,
}


def _sum_up(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    opposite = [c for c in comparisons if c.shows == "no"]
    unclear = [c for c in comparisons if c.shows == "unclear"]
    if opposite:
        return CONTRADICTED, f"{len(opposite)} of {len(comparisons)} comparisons show the opposite"
    if not unclear:
        return HOLDS, f"all {len(comparisons)} comparisons show it"
    if all(c.interval.networks < 2 for c in unclear):
        return INCONCLUSIVE, "fewer than two networks to compare"
    if all(not c.interval.known for c in unclear):
        return INCONCLUSIVE, "a network never reached the quantile, or had too few downloads"
    return INCONCLUSIVE, f"{len(unclear)} of {len(comparisons)} comparisons are unclear"
