"""Verdicts on claims about stair-steps: each can hold, be contradicted or stay open."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.refill_sweep.claims import StairStep
from experiments.refill_sweep.stairs import Stairs, stair_table
from tests.analyses import analysis_of
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, INCONCLUSIVE, judge, verdicts
from torsweep.stats.statistic import Analysis

KNOBS = {"refill_interval": ["1000ms", "100ms", "10ms"], "circuit_policy": ["ewma", "round_robin"]}
BASELINE = {"refill_interval": "100ms", "circuit_policy": "ewma"}
COMMON = {"id": "a", "text": "A sentence.", "knob": "refill_interval", "kind": "web"}


def evidence(depths: Mapping[tuple[str, str], float], networks: int = 8) -> Analysis:
    """Runs with stairs of ``depths`` by level and period; by the clock from the opening, half as deep."""
    generator = np.random.default_rng(7)

    def steps(kind: str, metric: str, variant: Mapping[str, str], period: str) -> list[Stairs]:
        factor = 1.0 if metric == "ttfb_after_command" else 0.5
        middle = factor * depths.get((variant["refill_interval"], period), 0.0)
        return [Stairs(middle + 0.02 * one, 0.01, 0.05) for one in generator.normal(size=networks)]

    return analysis_of(KNOBS, BASELINE, {stair_table: SimpleNamespace(steps=steps)})


STAIRS = StairStep(
    **COMMON,
    test="stair_step",
    level="1000ms",
    metric="ttfb",
    within="circuit_policy",
    clocks=("request",),
)
AT_ITS_OWN = ("1000ms", "1000ms")


@pytest.mark.parametrize(
    ("depths", "expected"),
    [
        ({AT_ITS_OWN: 0.9}, HOLDS),
        ({AT_ITS_OWN: 0.1}, CONTRADICTED),
        ({AT_ITS_OWN: 0.9, ("100ms", "100ms"): 0.8}, CONTRADICTED),
        ({AT_ITS_OWN: 0.354}, INCONCLUSIVE),
    ],
)
def test_a_stair_step_there_and_only_there(depths, expected):
    assert judge(STAIRS, evidence(depths), {}).verdict == expected


@pytest.mark.parametrize(
    ("more", "depths", "expected"),
    [
        # Of two clocks, each has its verdict; stairs half as deep are present and not pronounced.
        ({}, {AT_ITS_OWN: 0.6}, (HOLDS, CONTRADICTED, HOLDS, HOLDS)),
        ({}, {AT_ITS_OWN: 0.0}, (CONTRADICTED,) * 4),
        ({}, {AT_ITS_OWN: 0.6, ("100ms", "100ms"): 0.6}, (CONTRADICTED,) * 4),
        ({"only": False}, {AT_ITS_OWN: 0.6, ("100ms", "100ms"): 0.6}, (HOLDS, CONTRADICTED, HOLDS, HOLDS)),
    ],
)
def test_stairs_by_clock_and_grade(more, depths, expected):
    two = {"clocks": ("opening", "request"), "grades": ("present", "pronounced")}
    claim = STAIRS.model_copy(update={**two, **more})
    analysis = evidence(depths)
    analysis.claims = (claim,)
    found = verdicts(analysis)
    assert tuple(one.verdict for one in found) == expected
    where = ["from the opening of the SOCKS connection, present", "from the request, pronounced"]
    assert [found[0].setting, found[-1].setting] == where


def test_reasons_are_in_the_terms_of_the_claim():
    verdict = judge(STAIRS, evidence({AT_ITS_OWN: 0.1}), {})
    assert verdict.reason.startswith("2 of 14 comparisons contradict it: ")
    assert "depth at 1000ms, circuit_policy ewma: a depth below 0.354, no stairs" in verdict.reason
