"""Verdicts on the claims of this experiment's own tests: each can hold, be contradicted or stay open."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from experiments.refill_sweep.claims import NoImprovement, StairStep, WorstLevel
from experiments.refill_sweep.stairs import Stairs, stair_table
from tests.analyses import analysis_of
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, INCONCLUSIVE, judge, verdicts
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.medians import quantiles_of_runs

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


def _medians(levels: Mapping[str, float], noise: float = 0.01) -> Analysis:
    """Runs in which web clients' first bytes have their median at each level, times noise, on eight
    networks."""
    draw = np.random.default_rng(7)
    rows = [
        {"refill_interval": level, "circuit_policy": "ewma", "seed": seed, "kind": "web", "metric": "ttfb"}
        | {"median_s": median * (1 + noise * draw.normal())}
        for level, median in levels.items()
        for seed in range(8)
    ]
    return analysis_of(KNOBS, BASELINE, {quantiles_of_runs: pl.DataFrame(rows)})


@pytest.mark.parametrize(
    ("at_10ms", "noise", "expected"),
    [(1.3, 0.01, HOLDS), (1.0, 0.01, HOLDS), (0.9, 0.01, CONTRADICTED), (1.0, 0.2, INCONCLUSIVE)],
)
def test_that_nothing_improves_is_one_sided(at_10ms, noise, expected):
    """A slower level does not contradict it, as it does an equivalence."""
    levels = ("1000ms", "100ms", "10ms")
    claim = NoImprovement(**COMMON, test="no_improvement", levels=levels, metric="ttfb", margin=0.05)
    verdict = judge(claim, _medians({"10ms": at_10ms, "100ms": 1.0, "1000ms": 1.0}, noise), {})
    assert verdict.verdict == expected
    names = ["100ms against 1000ms", "10ms against 1000ms", "10ms against 100ms"]
    assert [item.statement.removeprefix("web ttfb: ") for item in verdict.comparisons] == names


@pytest.mark.parametrize(("at_10ms", "expected"), [(1.0, HOLDS), (1.4, CONTRADICTED)])
def test_the_worst_level(at_10ms, expected):
    claim = WorstLevel(**COMMON, test="worst_level", level="100ms", metrics=("ttfb",))
    medians = _medians({"10ms": at_10ms, "100ms": 1.2, "1000ms": 1.1})
    assert judge(claim, medians, {}).verdict == expected
