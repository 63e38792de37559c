"""Verdicts on claims: each can hold, be contradicted, stay open or not be tested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from tests.analyses import analysis_of
from torsweep.stats.claims.downloads import BestLevel, Equivalence
from torsweep.stats.claims.judging import (
    CONTRADICTED,
    HOLDS,
    INCONCLUSIVE,
    NO_DIFFERENCE,
    NOT_TESTED,
    faster,
    judge,
    verdicts,
    within_factor,
)
from torsweep.stats.claims.records import ExtremeMeasure
from torsweep.stats.inference.intervals import Interval
from torsweep.stats.measures.summary import numbers_of_runs
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.medians import quantiles_of_runs

KNOBS = {"refill_interval": ["1000ms", "100ms", "10ms"], "circuit_policy": ["ewma", "round_robin"]}
BASELINE = {"refill_interval": "100ms", "circuit_policy": "ewma"}
COMMON = {"id": "a", "text": "A sentence.", "knob": "refill_interval", "kind": "web"}


def evidence(
    medians: Mapping[str, float],
    networks: int = 8,
    noise: float = 0.01,
    round_robin: Mapping[str, float] | None = None,
) -> Analysis:
    """Runs in which each level has its median in every network, times a speed, times noise."""
    generator = np.random.default_rng(7)
    speeds = generator.lognormal(0, 0.3, networks)
    of_policy = {"ewma": medians, "round_robin": round_robin or medians}
    rows = []
    for metric, policy, level in product(("ttfb", "ttlb"), KNOBS["circuit_policy"], KNOBS["refill_interval"]):
        about = {"metric": metric, "kind": "web", "refill_interval": level, "circuit_policy": policy}
        for seed, speed in enumerate(speeds):
            median_s = of_policy[policy][level] * speed * (1 + noise * generator.normal())
            rows.append({**about, "seed": seed, "median_s": median_s})
    return analysis_of(KNOBS, BASELINE, {quantiles_of_runs: pl.DataFrame(rows)})


BEST = BestLevel(**COMMON, test="best_level", level="10ms", metrics=("ttfb", "ttlb"), within="circuit_policy")
ONE = BEST.model_copy(
    update={"level": "100ms", "metrics": ("ttfb",), "within": {"circuit_policy": "round_robin"}}
)
RISING = {"10ms": 1.0, "100ms": 1.2, "1000ms": 2.0}
FALLING = {"10ms": 2.0, "100ms": 1.2, "1000ms": 1.0}


def test_the_best_level_is_best_under_every_policy():
    verdict = judge(BEST, evidence(RISING), {})
    assert verdict.verdict == HOLDS
    assert len(verdict.comparisons) == 8
    assert all(item.shows == "yes" for item in verdict.comparisons)


def test_one_policy_is_enough_to_contradict():
    verdict = judge(BEST, evidence(RISING, round_robin={"10ms": 1.0, "100ms": 0.8, "1000ms": 2.0}), {})
    assert verdict.verdict == CONTRADICTED
    assert [item.shows for item in verdict.comparisons].count("no") == 2
    assert "round_robin" in next(i.statement for i in verdict.comparisons if i.shows == "no")


def test_there_is_no_difference_only_where_every_comparison_says_so():
    tie = {"10ms": 1.0, "100ms": 1.0, "1000ms": 2.0}
    verdict = judge(BEST, evidence(tie), {})
    assert verdict.verdict == INCONCLUSIVE
    told = "4 of 8 comparisons show it; 4 of 8 show no change as large as the margin; a change of "
    assert verdict.reason.startswith(told)
    even = evidence(dict.fromkeys(tie, 1.0))
    assert judge(BEST, even, {}).verdict == NO_DIFFERENCE
    assert judge(BEST, evidence(tie, noise=0.1), {}).verdict == INCONCLUSIVE


def test_what_can_be_shown_follows_from_the_spread_and_not_from_the_effect():
    verdict = judge(ONE, evidence({"10ms": 1.03, "100ms": 1.0, "1000ms": 1.03}, noise=0.04), {})
    assert verdict.verdict == INCONCLUSIVE
    assert verdict.reason.endswith(verdict.can_show)
    first = r"a change of [\d.]+ % would be shown by 8 networks with a chance of 80 %"
    text = rf"{first}, [\d.]+ % by 16, [\d.]+ % by 32"
    assert re.fullmatch(text, verdict.can_show)
    larger = judge(ONE, evidence({"10ms": 1.5, "100ms": 1.0, "1000ms": 1.5}, noise=0.04), {})
    assert (larger.verdict, larger.can_show) == (HOLDS, verdict.can_show)


def test_reasons_are_in_the_terms_of_the_claim():
    slower = judge(BEST, evidence({"10ms": 1.0, "100ms": 0.8, "1000ms": 2.0}), {})
    assert "web ttfb: 100ms against 10ms, circuit_policy ewma: 100ms is faster" in slower.reason
    assert slower.reason.startswith("4 of 8 comparisons contradict it: ")
    assert slower.reason.endswith("; and 1 more")


def test_margins_are_the_same_factor_in_both_directions():
    interval = Interval(0.0, faster(0.05) + 1e-9, 0.05 - 1e-9, 8, 0.95)
    assert within_factor(0.05)(interval)
    assert np.log1p(faster(0.05)) == pytest.approx(-np.log1p(0.05))
    assert not within_factor(0.05)(replace(interval, low=-0.05))


def test_relative_differences_are_the_same_from_either_side():
    """With means of ratios, each of two equal variants would look slower than the other."""
    runs = evidence(dict.fromkeys(KNOBS["refill_interval"], 1.0), networks=60, noise=0.3)
    there = judge(ONE, runs, {}).comparisons[1].interval
    claim = ONE.model_copy(update={"level": "10ms"})
    back = judge(claim, runs, {}).comparisons[1].interval
    assert there.mean + 1 == pytest.approx(1 / (back.mean + 1))
    assert there.low + 1 == pytest.approx(1 / (back.high + 1))


@pytest.mark.parametrize(("medians", "decided"), [(RISING, HOLDS), (FALLING, CONTRADICTED)])
def test_three_networks_decide_and_two_do_not(medians, decided):
    """Two networks may be alike by chance: a few downloads each, and the interval has almost no width."""
    for networks in (1, 2):
        verdict = judge(BEST, evidence(medians, networks=networks, noise=0.001), {})
        assert verdict.verdict == INCONCLUSIVE
        assert "a verdict takes 3, or 2 where their spread is known" in verdict.reason
    assert judge(BEST, evidence(medians, networks=3, noise=0.001), {}).verdict == decided


EQUIVALENT = Equivalence(**COMMON, test="equivalence", metric="ttfb", margin=0.05, within="circuit_policy")


@pytest.mark.parametrize(
    ("at_10ms", "noise", "expected"),
    [(1.01, 0.01, HOLDS), (1.2, 0.01, CONTRADICTED), (0.8, 0.01, CONTRADICTED), (1.0, 0.2, INCONCLUSIVE)],
)
def test_equivalence_needs_an_interval_within_the_margin(at_10ms, noise, expected):
    medians = {"10ms": at_10ms, "100ms": 1.0, "1000ms": 1.0}
    verdict = judge(EQUIVALENT, evidence(medians, noise=noise), {})
    assert verdict.verdict == expected
    assert verdict.comparisons[0].interval.confidence == pytest.approx(0.9)


def test_a_claim_holds_for_one_statistic_and_not_for_another():
    """10 ms is best for the median download, and for the mean it is worst."""
    claim = BEST.model_copy(update={"statistics": ("median", "mean")})
    analysis = evidence(RISING)
    analysis.claims = (claim,)
    runs = analysis.known[quantiles_of_runs]
    analysis.known[quantiles_of_runs] = runs.with_columns(mean_s=1 / pl.col("median_s"))
    found = verdicts(analysis)
    judged = [(one.setting, one.verdict) for one in found]
    assert judged == [("median download", HOLDS), ("mean", CONTRADICTED)]
    (answer, *_) = found[1].comparisons
    # The inverse of a ratio that is paired by network.
    expected = 1 / (1 + found[0].comparisons[0].interval.mean) - 1
    assert answer.interval.mean == pytest.approx(expected)


def test_a_claim_by_the_clock_from_the_request():
    claim = BEST.model_copy(update={"clocks": ("request",), "metrics": ("ttfb",)})
    analysis = evidence(RISING)
    runs = analysis.known[quantiles_of_runs]
    later = runs.filter(pl.col("metric") == "ttfb").with_columns(
        pl.lit("ttfb_after_command").alias("metric"), median_s=1 / pl.col("median_s")
    )
    analysis.known[quantiles_of_runs] = pl.concat([runs, later])
    assert judge(claim, analysis, {}).verdict == CONTRADICTED
    assert judge(claim.model_copy(update={"clocks": ("opening",)}), analysis, {}).verdict == HOLDS


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"1000ms": 0.01, "100ms": 0.05, "10ms": 0.09}, HOLDS),
        ({"1000ms": 0.05, "100ms": 0.01, "10ms": 0.09}, CONTRADICTED),
        ({"1000ms": 0.05, "100ms": 0.05, "10ms": 0.05}, NO_DIFFERENCE),
    ],
)
def test_a_claim_about_a_share_of_clients(shares, expected):
    """In points, paired by network: networks differ by more than levels do."""
    claim = ExtremeMeasure(
        **{key: COMMON[key] for key in ("id", "text", "knob")},
        test="extreme_measure",
        measure="clients_stalled",
        group="web",
        level="1000ms",
        extreme="lowest",
        margin=0.01,
    )
    generator = np.random.default_rng(3)
    rows = [
        (level, "ewma", seed, share + 0.1 * seed + 0.002 * generator.normal())
        for level, share in shares.items()
        for seed in range(8)
    ]
    runs = pl.DataFrame(rows, [*KNOBS, "seed", "value"], orient="row")
    known = {numbers_of_runs: {("clients_stalled", "web"): runs}}
    analysis = analysis_of(KNOBS, BASELINE, known, range(8))
    verdict = judge(claim, analysis, {})
    assert verdict.verdict == expected
    if expected == HOLDS:
        assert verdict.comparisons[0].interval.mean == pytest.approx(0.04, abs=0.003)
    without = analysis_of(KNOBS, BASELINE, {numbers_of_runs: {}}, range(8))
    assert judge(claim, without, {}).verdict == INCONCLUSIVE


def test_levels_that_a_plan_lacks_are_not_tested():
    base = evidence(RISING)
    without = analysis_of({**KNOBS, "circuit_policy": ["ewma"]}, BASELINE, base.known)
    verdict = judge(ONE, without, {})
    assert (verdict.verdict, verdict.comparisons) == (NOT_TESTED, ())
    assert "circuit_policy=round_robin" in verdict.reason
    only = analysis_of({**KNOBS, "refill_interval": ["100ms"]}, BASELINE, base.known)
    assert judge(EQUIVALENT, only, {}).verdict == NOT_TESTED


def test_without_a_place_the_other_knobs_stay_at_the_baseline():
    claim = BestLevel(**COMMON, test="best_level", level="10ms", metrics=("ttfb",))
    verdict = judge(claim, evidence(RISING, round_robin={"10ms": 9.0, "100ms": 1.0, "1000ms": 1.0}), {})
    assert verdict.verdict == HOLDS
    assert len(verdict.comparisons) == 2
