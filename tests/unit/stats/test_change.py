"""Claims that there is a change: read both ways, each comparison for itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.analyses import analysis_of
from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.claims.judging import (
    CONTRADICTED,
    HOLDS,
    NO_DIFFERENCE,
    Verdict,
    judge,
    verdicts,
)
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.medians import quantiles_of_runs

CHANGE = AnyChange(
    id="web", text="A sentence.", test="change", knob="tor", kind="web", metrics=("ttfb", "ttlb")
)


def runs(ttfb: float, ttlb: float, noise: float, networks: int = 8, seed: int = 7) -> Analysis:
    """Runs of two builds, the second of which takes ``ttfb`` and ``ttlb`` times as long, times noise."""
    draw = np.random.default_rng(seed).normal
    rows = [
        {
            "metric": metric,
            "kind": "web",
            "tor": tor,
            "seed": network,
            "median_s": (1 + network) * factor * float(np.exp(noise * draw())),
        }
        for metric, ratio in (("ttfb", ttfb), ("ttlb", ttlb))
        for tor, factor in (("stock", 1.0), ("branch", ratio))
        for network in range(networks)
    ]
    return analysis_of(
        {"tor": ["branch", "stock"]}, {"tor": "stock"}, {quantiles_of_runs: pl.DataFrame(rows)}
    )


def shown(verdict: Verdict) -> list[str]:
    return [answer.shows for answer in verdict.comparisons]


@pytest.mark.parametrize("ratio", [1.2, 0.8])
def test_a_change_is_shown_in_either_direction(ratio: float) -> None:
    verdict = judge(CHANGE, runs(ratio, ratio, 0.02), {})
    assert (verdict.verdict, shown(verdict)) == (HOLDS, ["yes", "yes"])
    assert verdict.reason == "2 of 2 comparisons show a change"
    first = verdict.comparisons[0]
    assert first.statement == "web ttfb: branch against stock"
    assert first.interval.mean == pytest.approx(ratio - 1, abs=0.03)
    assert first.interval == first.simultaneous and first.interval.confidence == pytest.approx(0.975)


def test_it_is_read_from_the_simultaneous_interval() -> None:
    """Somewhere between the two intervals lies 0: at 95 % one comparison alone would show a change."""
    for seed in range(200):
        verdict = judge(CHANGE, runs(1.0, 1.0, 0.05, seed=seed), {})
        alone = judge(CHANGE.model_copy(update={"metrics": ("ttfb",)}), runs(1.0, 1.0, 0.05, seed=seed), {})
        if shown(alone) == ["yes"] and shown(verdict)[0] != "yes":
            return
    raise AssertionError("no draw tells the two intervals apart")


def test_no_change_is_shown_where_all_intervals_are_within_the_margin() -> None:
    verdict = judge(CHANGE, runs(1.0, 1.0, 0.01), {})
    assert verdict.verdict == NO_DIFFERENCE
    assert verdict.reason == "all 2 comparisons show no change as large as the margin"


def test_one_change_is_enough_and_the_rest_is_told() -> None:
    verdict = judge(CHANGE, runs(1.2, 1.0, 0.01), {})
    assert (verdict.verdict, shown(verdict)) == (HOLDS, ["yes", "no difference"])
    assert verdict.reason == "1 of 2 comparisons show a change; 1 of 2 show no change as large as the margin"


def test_claims_of_changes_that_are_printed_together_are_covered_together() -> None:
    analysis = runs(1.03, 1.03, 0.06)
    analysis.claims = (CHANGE, CHANGE.model_copy(update={"id": "again"}))
    one, other = verdicts(analysis)
    assert one.comparisons[0].interval.confidence == pytest.approx(1 - 0.05 / 4)
    assert one.comparisons == other.comparisons


def test_a_change_is_never_contradicted_and_rarely_found_where_there_is_none() -> None:
    """Both comparisons together: at most one A/A in twenty, 2.5 of 50 sweeps."""
    seen = [judge(CHANGE, runs(1.0, 1.0, 0.05, seed=seed), {}).verdict for seed in range(50)]
    assert CONTRADICTED not in seen
    assert seen.count(HOLDS) <= 7
