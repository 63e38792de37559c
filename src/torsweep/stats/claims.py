"""Verdicts on the claims of an experiment.

In: quantiles of each run, stair-steps of each run, and the claims of an experiment.yaml. Out: a
:class:`Verdict` for each: ``holds``, ``contradicted``, ``no difference``, ``inconclusive``, or
``not tested`` where the plan lacks the levels that the claim names.

A claim is split into comparisons, each a relative difference of medians (or a depth) with a t-interval
over networks, or a count with an exact interval of its median over networks. It **holds** when every
comparison shows what it should: an intersection–union test, for which each comparison at 95 % is enough. It
is **contradicted** when at least one shows the opposite in its simultaneous interval, where Bonferroni over
the claim's comparisons guards against finding one by looking at many. There is **no difference** when none
is contradicted and at least one comparison has its simultaneous interval within ± the margin of no
difference: the claim then cannot hold by more than the margin. Otherwise it is **inconclusive**, as it
always is with one network; the reason then says how many networks would say more
(:mod:`torsweep.stats.planning`).

- ``best_level``, ``worst_level``: each other level against the claimed one. Shown: its interval lies above 0
  (below, for the worst). The opposite: it lies below (above). No difference: within ± the margin.
- ``equivalence``: each other level of the knob against the baseline's. Shown: two one-sided tests at 5 %
  (Schuirmann 1987), that is, the 90 % interval lies within ± margin. The opposite: the simultaneous
  interval lies outside.
- ``starvation``: how many streams starve (:mod:`torsweep.stats.starvation`) in the median network: as many
  as are not among the ``count`` served, one more or one less, and of the first ``count`` to complete more
  than half are of those that should be served; or, where all are served, less than one starves.
- ``starvation_threshold``: at each level up to the first bound, at least one stream starves in the median
  network; at each from the second on, less than one.
- ``stair_step``: the depth (:mod:`torsweep.stats.stairs`) of the claimed level at its own period, which
  has to be visible; that of every other level, at its own period and at the claimed one, which must not
  be; and that it is deeper than each other level's at the claimed period, paired by network (no difference:
  within ± the margin, in units of depth).
- ``latency_share``: the share of one thing that is waited for in the mean time to a byte, of followed
  downloads. Shown: above the claimed share. The opposite: below.
- ``cell_median``, ``quiet_slower``, ``cell_stage``: :mod:`torsweep.stats.cell_claims`.

Knobs that the claim does not name stay at the baseline's level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from torsweep.config.claims import (
    NO_DIFFERENCE_BELOW,
    BestLevel,
    CellMedian,
    CellStage,
    Claim,
    Equivalence,
    LatencyShare,
    QuietSlower,
    StairStep,
    Starvation,
    StarvationThreshold,
    WorstLevel,
)
from torsweep.stats.breakdown import METRIC_BYTES
from torsweep.stats.cell_claims import AnyCellClaim, cell_question
from torsweep.stats.design import FIXED, Design
from torsweep.stats.differences import paired
from torsweep.stats.intervals import CONFIDENCE, Interval, bonferroni, fewest_for_median
from torsweep.stats.planning import MOST
from torsweep.stats.questions import NO, NOTHING, UNCLEAR, YES, Comparison, Question, Reading
from torsweep.stats.stairs import VISIBLE_DEPTH
from torsweep.stats.starvation import Fairness

HOLDS, CONTRADICTED, NO_DIFFERENCE = "holds", "contradicted", "no difference"
INCONCLUSIVE, NOT_TESTED = "inconclusive", "not tested"

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

    @property
    def open(self) -> bool:
        """Whether more networks could decide the claim: it is inconclusive, and no number is missing."""
        unclear = [c for c in self.comparisons if c.shows == UNCLEAR]
        return self.verdict == INCONCLUSIVE and not all(np.isnan(c.interval.mean) for c in unclear)


@dataclass(frozen=True)
class Evidence:
    """What claims are judged by.

    ``runs`` are the quantiles of each run, ``knobs`` the plan's levels, ``baseline`` its baseline;
    ``fairness`` is who starved, in plans with a table of progress. ``margin`` is the relative difference (of
    depths: the difference) below which there is none, where a claim says nothing else. ``cells`` has the
    times of cells in each run, in plans that trace them, and ``ways`` what followed downloads waited for.
    """

    runs: pl.DataFrame
    knobs: Mapping[str, Sequence[str]]
    baseline: Levels
    depth_of: DepthOf
    fairness: Fairness | None = None
    margin: float = NO_DIFFERENCE_BELOW
    medians: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)
    cells: pl.DataFrame = field(default_factory=pl.DataFrame)
    ways: pl.DataFrame = field(default_factory=pl.DataFrame)

    def log_median_ratio(self, metric: str, kind: str, reference: Levels, variant: Levels) -> np.ndarray:
        """Logarithm of the ratio of the medians of ``variant`` and ``reference``, one a network."""
        chosen = self.medians.setdefault(
            (metric, kind),
            self.runs.filter(pl.col("metric") == metric, pl.col("kind").cast(pl.String) == kind),
        )
        networks = self.runs["seed"].unique().sort()
        return paired(chosen, "median_s", reference, variant, networks).log_ratio


def judge(claim: Claim, evidence: Evidence, setting: Levels, design: Design = FIXED) -> Verdict:
    """The verdict on ``claim`` where the knobs of ``setting`` are held at its levels."""
    return ask(claim, evidence, setting).verdict(design)


@dataclass(frozen=True)
class Inquiry:
    """A claim in one setting, with the questions it comes to; ``open_because`` says why there are none."""

    claim: Claim
    setting: str
    questions: tuple[Question, ...]
    open_because: str = ""

    def verdict(self, design: Design = FIXED) -> Verdict:
        """What the questions say together, in a sweep of ``design``."""
        head = (self.claim.id, self.claim.text, self.claim.test, self.setting)
        if not self.questions:
            return Verdict(*head, NOT_TESTED, self.open_because)
        together = bonferroni(CONFIDENCE, len(self.questions))
        comparisons = tuple(question.answer(together, design) for question in self.questions)
        return Verdict(*head, *_sum_up(comparisons), comparisons)


def ask(claim: Claim, evidence: Evidence, setting: Levels) -> Inquiry:
    """What ``claim`` comes to in a plan where the knobs of ``setting`` are held at its levels."""
    where = ", ".join(f"{knob}={level}" for knob, level in setting.items())
    missing = _missing(claim, evidence)
    if missing:
        return Inquiry(claim, where, (), f"this plan has no {missing}")
    questions = [
        question
        for context in _contexts(claim, evidence, setting)
        for question in _QUESTIONS[type(claim)](claim, evidence, context)
    ]
    return Inquiry(claim, where, tuple(questions), f"this plan has one level of {claim.knob}")


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
    best, margin = isinstance(claim, BestLevel), _margin(claim, evidence)
    above, below = (lambda i: i.low > 0), (lambda i: i.high < 0)
    return [
        Question(
            f"{claim.kind} {metric}: {other} against {claim.level}{_place(claim, context)}",
            evidence.log_median_ratio(
                metric, claim.kind, {**context, claim.knob: claim.level}, {**context, claim.knob: other}
            ),
            "> 0" if best else "< 0",
            above if best else below,
            below if best else above,
            _within(margin),
            logarithms=True,
        )
        for metric in claim.metrics
        for other in _others(claim, evidence, claim.level)
    ]


def _margin(claim: BestLevel | WorstLevel | StairStep, evidence: Evidence) -> float:
    return evidence.margin if claim.margin is None else claim.margin


def _within(margin: float) -> Reading:
    return lambda i: i.low > -margin and i.high < margin


def _equivalent(claim: Equivalence, evidence: Evidence, context: Levels) -> list[Question]:
    margin, reference = claim.margin, evidence.baseline[claim.knob]
    return [
        Question(
            f"{claim.kind} {claim.metric}: {other} against {reference}{_place(claim, context)}",
            evidence.log_median_ratio(
                claim.metric, claim.kind, {**context, claim.knob: reference}, {**context, claim.knob: other}
            ),
            f"within ±{margin:g}",
            _within(margin),
            lambda i: i.low > margin or i.high < -margin,
            confidence=1 - 2 * (1 - CONFIDENCE),
            logarithms=True,
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
    claimed, same = depths(level, level), _within(_margin(claim, evidence))
    questions = [Question(f"depth at {level}{place}", claimed, f"> {edge}", visible, hidden)]
    for other in _others(claim, evidence, level):
        for period in (other, level):
            name = f"depth at {other}, period {period}{place}"
            questions.append(Question(name, depths(other, period), f"< {edge}", hidden, visible))
        deeper = claimed - depths(other, level)
        name = f"depth at {level} less that at {other}, period {level}{place}"
        questions.append(Question(name, deeper, "> 0", lambda i: i.low > 0, lambda i: i.high < 0, same))
    return questions


def _starvation(claim: Starvation, evidence: Evidence, context: Levels) -> list[Question]:
    assert evidence.fairness is not None, "an experiment with this test has a table of progress"
    here, place = {**context, claim.knob: claim.level}, f"{claim.level}{_place(claim, context)}"
    starved, streams = evidence.fairness.starved(claim.kind, here)
    if claim.count is None:
        return [_less_than_one("starved", place, starved)]
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
            counted=True,
        ),
        Question(name, served, "> 0.5", lambda i: i.low > 0.5, lambda i: i.high < 0.5, counted=True),
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
            questions.append(_at_least_one("starved", place, starved))
        elif position >= first:
            questions.append(_less_than_one("starved", place, starved))
    return questions


def _less_than_one(what: str, place: str, values: np.ndarray) -> Question:
    name = f"{what}, {place}"
    return Question(name, values, "< 1", lambda i: i.high < 1, lambda i: i.low >= 1, counted=True)


def _at_least_one(what: str, place: str, values: np.ndarray) -> Question:
    name = f"{what}, {place}"
    return Question(name, values, "≥ 1", lambda i: i.low >= 1, lambda i: i.high < 1, counted=True)


def _about_cells(claim: AnyCellClaim, evidence: Evidence, context: Levels) -> list[Question]:
    here, place = {**context, claim.knob: claim.level}, f"{claim.host}, {claim.level}{_place(claim, context)}"
    return [cell_question(claim, evidence.cells, here, place, evidence.margin)]


def _latency_share(claim: LatencyShare, evidence: Evidence, context: Levels) -> list[Question]:
    levels = {**context, claim.knob: claim.level}
    wanted = {"kind": claim.kind, "byte": METRIC_BYTES[claim.metric], "group": claim.group}
    chosen = evidence.ways.filter(
        *(pl.col(knob).cast(pl.String) == level for knob, level in levels.items()),
        *(pl.col(name).cast(pl.String) == value for name, value in wanted.items()),
    )
    networks = evidence.runs["seed"].unique().sort().to_frame()
    shares = networks.join(chosen.select("seed", "share"), on="seed", how="left", maintain_order="left")
    least, what = claim.least, claim.group.replace("_", " ")
    return [
        Question(
            f"share of {what} in {claim.metric}, {claim.level}{_place(claim, context)}",
            shares["share"].fill_null(float("nan")).to_numpy(),
            f"> {least:g}",
            lambda i: i.low > least,
            lambda i: i.high < least,
        )
    ]


_QUESTIONS: dict[type, Callable[..., list[Question]]] = {
    BestLevel: _extreme,
    WorstLevel: _extreme,
    Equivalence: _equivalent,
    StairStep: _stair_step,
    Starvation: _starvation,
    StarvationThreshold: _threshold,
    CellMedian: _about_cells,
    QuietSlower: _about_cells,
    CellStage: _about_cells,
    LatencyShare: _latency_share,
}


def _sum_up(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    shown = {answer: [c for c in comparisons if c.shows == answer] for answer in (NO, NOTHING, UNCLEAR)}
    if shown[NO]:
        return CONTRADICTED, f"{len(shown[NO])} of {len(comparisons)} comparisons show the opposite"
    if shown[NOTHING]:
        many = f"{len(shown[NOTHING])} of {len(comparisons)} comparisons"
        return NO_DIFFERENCE, f"{many} show none as large as the margin"
    unclear = shown[UNCLEAR]
    if not unclear:
        return HOLDS, f"all {len(comparisons)} comparisons show it"
    if all(c.interval.networks < 2 for c in unclear):
        return INCONCLUSIVE, "fewer than two networks to compare"
    if all(np.isnan(c.interval.mean) for c in unclear):
        return INCONCLUSIVE, "a network never reached the quantile, or had too few downloads"
    many = f"{len(unclear)} of {len(comparisons)} comparisons are unclear"
    if all(not c.interval.known for c in unclear):
        fewest = fewest_for_median(unclear[0].interval.confidence)
        many = f"an interval of counts, or of values that are all alike, takes {fewest} networks or more"
    return INCONCLUSIVE, f"{many}; {_networks_needed(comparisons)}"


def _networks_needed(comparisons: Sequence[Comparison]) -> str:
    """How many networks would halve the intervals, and about how many would decide the claim."""
    unclear = [c for c in comparisons if c.shows == UNCLEAR]
    ways = [c.networks_for[answer] for c in unclear for answer in (NO, NOTHING) if answer in c.networks_for]
    if all(YES in c.networks_for for c in unclear):
        ways.append(max(c.networks_for[YES] for c in unclear))
    if not ways and any(np.isnan(c.interval.mean) for c in unclear):
        return "how many networks would decide it cannot be told, as a network lacks a value"
    decide = f"about {min(ways):,}" if ways else f"more than {MOST:,}"
    wide = [c for c in unclear if c.interval.known and c.interval.high > c.interval.low]
    if not wide:
        return f"{decide} networks would decide it"
    halves = [c.halved_by for c in wide if c.halved_by is not None]
    half = f"{max(halves):,}" if len(halves) == len(wide) else f"more than {MOST:,}"
    return f"{half} networks would halve their intervals, {decide} would decide it"
