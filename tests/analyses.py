"""What claims are judged by, without tables: results that are given instead of worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from torsweep.stats.claims.change import EVERYONE, SHARE_MEASURES
from torsweep.stats.claims.judging import NO_DIFFERENCE, UNCLEAR, YES, Answer, Behind, Verdict
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.statistic import Analysis
from torsweep.stats.verdicts import ClaimsFile

TIMES = tuple(f"{name}_{byte}" for name in ("paired", "mean", "p90") for byte in ("ttfb", "ttlb"))
"""Measures of a group of downloads, in their order."""


def change_verdict(kind: str = "web", **bounds: tuple[float, float]) -> Verdict:
    """The verdict on a change, where measures lie between ``bounds``, and all others within ±1 %.

    What excludes 0 is shown; what is as narrow as 5 % makes no difference.
    """
    answers = []
    for measure in SHARE_MEASURES if kind == EVERYONE else TIMES:
        low, high = bounds.get(measure, (-0.01, 0.01))
        interval = Interval((low + high) / 2, low, high, 8, 0.99)
        shows = YES if low > 0 or high < 0 else NO_DIFFERENCE if high - low < 0.05 else UNCLEAR
        behind = Behind(measure, dict.fromkeys(range(1, 9), interval.mean), 0.1, 0.05)
        answers.append(Answer(measure, interval, interval, "not 0", shows, behind=behind))
    return Verdict(kind, "", "change", "", "", "", tuple(answers), any_shows=True)


def claims_file_of(*verdicts: Verdict) -> ClaimsFile:
    """Verdicts on eight networks as a summary has them."""
    told = {"experiment": "x", "engine": "emulation", "engine_version": "", "era": "today", "plan": "main"}
    seeds = tuple(range(1, 9))
    return ClaimsFile(**told, network="ci", seeds=seeds, baseline={}, interim=(), claims=verdicts)


def analysis_of(
    knobs: Mapping[str, Sequence[str]],
    baseline: Mapping[str, str],
    known: Mapping[Callable[[Analysis], Any], Any],
    seeds: Sequence[int] = (1,),
) -> Analysis:
    """An analysis in which ``known`` are the results that claims ask for, by what works them out."""
    provenance = SimpleNamespace(knobs=dict(knobs), seeds=list(seeds), experiment="")
    return Analysis(SimpleNamespace(provenance=provenance), baseline, 0.05, known=dict(known))  # type: ignore[arg-type]
