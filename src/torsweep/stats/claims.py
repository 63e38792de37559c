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

from torsweep.config.claims import BestLevel, Claim, Equivalence, StairStep, WorstLevel
from torsweep.stats.differences import paired
from torsweep.stats.intervals import CONFIDENCE, Interval, bonferroni, t_interval
from torsweep.stats.stairs import VISIBLE_DEPTH

HOLDS, CONTRADICTED, INCONCLUSIVE, NOT_TESTED = "holds", "contradicted", "inconclusive", "not tested"

Levels = Mapping[str, str]
DepthOf = Callable[[str, str, Levels, str], np.ndarray]
"""(kind, metric, variant, level that is the period) → depth of the stair-step, one a network."""


@dataclass(frozen=True)
class Comparison:
    """One number a claim rests on, with its interval over networks and what it shows.

    ``required`` is the range it should lie in, as text; ``interval`` is the one ``shows`` was read from
    (90 % for an equivalence, else 95 %), ``simultaneous`` covers all comparisons of the claim.
    """

    statement: str
    interval: Interval
    simultaneous: Interval
    required: str
    shows: str


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

    ``runs`` are the quantiles of each run, ``knobs`` the plan's levels, ``baseline`` its baseline.
    """

    runs: pl.DataFrame
    knobs: Mapping[str, Sequence[str]]
    baseline: Levels
    depth_of: DepthOf
    medians: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)

    def median_ratio(self, metric: str, kind: str, reference: Levels, variant: Levels) -> np.ndarray:
        """Relative difference of the medians of ``variant`` and ``reference``, one a network."""
        chosen = self.medians.setdefault(
            (metric, kind),
            self.runs.filter(pl.col("metric") == metric, pl.col("kind").cast(pl.String) == kind),
        )
        return paired(chosen, "median_s", reference, variant).relative


@dataclass(frozen=True)
class _Question:
    """A comparison before its interval: ``shown`` and ``opposite`` read an interval."""

    statement: str
    values: np.ndarray
    required: str
    shown: Callable[[Interval], bool]
    opposite: Callable[[Interval], bool]
    confidence: float = CONFIDENCE

    def answer(self, together: float) -> Comparison:
        each, simultaneous = t_interval(self.values, self.confidence), t_interval(self.values, together)
        shows = "unclear"
        if each.known:
            shows = "yes" if self.shown(each) else "no" if self.opposite(simultaneous) else "unclear"
        return Comparison(self.statement, each, simultaneous, self.required, shows)


def judge(claim: Claim, evidence: Evidence, setting: Levels) -> Verdict:
    """The verdict on ``claim`` where the knobs of ``setting`` are held at its levels."""
    where = ", ".join(f"{knob}={level}" for knob, level in setting.items())
    head = (claim.id, claim.text, claim.test, where)
    missing = _missing(claim, evidence)
    if missing:
        return Verdict(*head, NOT_TESTED, f"this plan has no {missing}")
    questions: list[_Question] = []
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
    for knob, level in claim.levels_named().items():
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


def _extreme(claim: BestLevel | WorstLevel, evidence: Evidence, context: Levels) -> list[_Question]:
    best = isinstance(claim, BestLevel)
    above, below = (lambda i: i.low > 0), (lambda i: i.high < 0)
    return [
        _Question(
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


def _equivalent(claim: Equivalence, evidence: Evidence, context: Levels) -> list[_Question]:
    margin, reference = claim.margin, evidence.baseline[claim.knob]
    return [
        _Question(
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


def _stair_step(claim: StairStep, evidence: Evidence, context: Levels) -> list[_Question]:
    def depths(level: str, period: str) -> np.ndarray:
        return evidence.depth_of(claim.kind, claim.metric, {**context, claim.knob: level}, period)

    def visible(interval: Interval) -> bool:
        return interval.low > VISIBLE_DEPTH

    def hidden(interval: Interval) -> bool:
        return interval.high < VISIBLE_DEPTH

    level, place, edge = claim.level, _place(claim, context), f"{VISIBLE_DEPTH:.3f}"
    claimed = depths(level, level)
    questions = [_Question(f"depth at {level}{place}", claimed, f"> {edge}", visible, hidden)]
    for other in _others(claim, evidence, level):
        for period in (other, level):
            name = f"depth at {other}, period {period}{place}"
            questions.append(_Question(name, depths(other, period), f"< {edge}", hidden, visible))
        deeper = claimed - depths(other, level)
        name = f"depth at {level} less that at {other}, period {level}{place}"
        questions.append(_Question(name, deeper, "> 0", lambda i: i.low > 0, lambda i: i.high < 0))
    return questions


_QUESTIONS: dict[type, Callable[..., list[_Question]]] = {
    BestLevel: _extreme,
    WorstLevel: _extreme,
    Equivalence: _equivalent,
    StairStep: _stair_step,
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
