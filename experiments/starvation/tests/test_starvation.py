"""Who starved: the moment, the shares, and verdicts that can come out each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from experiments.starvation.claims import Starvation, StarvationThreshold
from experiments.starvation.fairness import Fairness, fairness, fairness_of_plan
from tests.analyses import analysis_of
from tests.synthetic import gathered
from tests.synthetic_streams import SERVED, STARVED_SHARE, tables, write_runs
from torsweep.config.experiment import load_experiment
from torsweep.stats.claims.judging import (
    CONTRADICTED,
    HOLDS,
    INCONCLUSIVE,
    NOT_TESTED,
    Verdict,
    judge,
)
from torsweep.stats.statistic import Analysis
from torsweep.stats.summarize import summarize, write_summary

KNOBS = {
    "activation_order": ["list", "reversed", "random"],
    "middle_bandwidth": ["450KiBps", "550KiBps", "600KiBps", "720KiBps"],
    "streams": ["9"],
    "cells": ["10000"],
}
BASELINE = {knob: "550KiBps" if "550KiBps" in levels else levels[0] for knob, levels in KNOBS.items()}
COMMON = {"id": "a", "text": "A sentence.", "kind": "bulk"}
ORDER = {**COMMON, "knob": "activation_order", "test": "starvation"}
THRESHOLD = {**COMMON, "knob": "middle_bandwidth", "test": "starvation_threshold"}


def _frames(variant: Mapping[str, str], seeds: tuple[int, ...] = (1, 2)) -> tuple[pl.DataFrame, pl.DataFrame]:
    made = {seed: tables(variant, seed) for seed in seeds}
    keys = [pl.lit(level).alias(knob) for knob, level in variant.items()]
    streams, progress = (
        pl.concat(made[seed][i].with_columns(pl.lit(seed).alias("seed"), *keys) for seed in seeds)
        for i in (0, 1)
    )
    return streams, progress


def _of(variant: Mapping[str, str], seeds: tuple[int, ...] = (1, 2)) -> Fairness:
    return fairness(*_frames(variant, seeds), list(variant))


def _evidence(seeds: Sequence[int] = range(1, 9)) -> Analysis:
    found = [
        _of({**BASELINE, "activation_order": order, "middle_bandwidth": middle}, seeds)
        for order in KNOBS["activation_order"]
        for middle in KNOBS["middle_bandwidth"]
    ]
    together = Fairness(pl.concat(f.shares for f in found), pl.concat(f.clients for f in found))
    return analysis_of(KNOBS, BASELINE, {fairness_of_plan: together}, seeds)


def _starvation(seeds: Sequence[int] = range(1, 9), **claim: object) -> Verdict:
    return judge(Starvation.model_validate({**ORDER, **claim}), _evidence(seeds), {})


def _threshold(**claim: object) -> Verdict:
    return judge(StarvationThreshold.model_validate({**THRESHOLD, **claim}), _evidence(), {})


def test_shares_are_those_of_the_moment_the_first_is_complete() -> None:
    shares = _of(BASELINE).shares.filter(pl.col("seed") == 1)
    assert shares["opened"].to_list() == list(range(1, 10))
    assert shares["completed"].to_list() == [4, 5, 6, 7, 8, 9, 1, 2, 3]
    assert shares["starved"].to_list() == [True] * 6 + [False] * 3
    assert shares["share"].to_list()[:6] == pytest.approx([STARVED_SHARE] * 6, abs=0.01)
    assert shares["share"].to_list()[6:] == pytest.approx([1.0] * 3, abs=0.02)
    assert shares["completed_s"].to_list()[6] == pytest.approx(30.07)


def test_jain_is_that_of_its_definition() -> None:
    one = _of(BASELINE).clients.row(0, named=True)
    assert (one["opened"], one["starved"]) == (9, 6)
    # Three have all of theirs, six a twentieth.
    assert one["jain"] == pytest.approx((3 + 6 * 0.05) ** 2 / (9 * (3 + 6 * 0.05**2)), abs=0.01)
    even = _of({**BASELINE, "activation_order": "random"}).clients
    assert even["jain"].to_list() == pytest.approx([1.0, 1.0], abs=1e-3)
    assert even["starved"].to_list() == [0, 0]


def test_a_stream_without_a_byte_has_a_share_of_none() -> None:
    streams, progress = _frames(BASELINE, (1,))
    found = fairness(streams, progress.filter(pl.col("stream") != 4), list(BASELINE)).shares
    assert found.filter(pl.col("stream") == 4)["share"].to_list() == [0.0]
    assert found["starved"].sum() == 6


def test_where_none_completes_nothing_is_decided() -> None:
    streams, progress = _frames(BASELINE, (1,))
    cut = streams.with_columns(pl.lit(None, pl.Int64).alias("last_byte_us"))
    found = fairness(cut, progress, list(BASELINE))
    assert found.shares["share"].null_count() == found.shares["starved"].null_count() == 9
    one = found.clients.row(0, named=True)
    assert (one["starved"], one["jain"], one["all_completed_s"]) == (None, None, None)


def test_claims_about_the_order_come_out_each_way() -> None:
    assert _starvation(level="list", served="last", count=SERVED).verdict == HOLDS
    assert _starvation(level="list", served="last", count=SERVED + 1).verdict == HOLDS
    assert _starvation(level="list", served="last", count=SERVED + 2).verdict == CONTRADICTED
    assert _starvation(level="list", served="first", count=SERVED).verdict == CONTRADICTED
    assert _starvation(level="reversed", served="first", count=SERVED).verdict == HOLDS
    assert _starvation(level="random", served="all").verdict == HOLDS
    assert _starvation(level="list", served="all").verdict == CONTRADICTED
    assert _starvation((1,), level="list", served="last", count=SERVED).verdict == INCONCLUSIVE


def test_a_few_networks_that_agree_decide_nothing_about_counts() -> None:
    """Three networks with six starved streams each do not rule out one in three that has none."""
    verdict = _starvation((1, 2, 3), level="list", served="last", count=SERVED)
    assert verdict.verdict == INCONCLUSIVE
    assert (
        verdict.reason == "an interval of counts, or of values that are all alike, takes 6 networks or more"
    )
    assert _starvation(range(1, 7), level="list", served="last", count=SERVED).verdict == HOLDS


def test_a_threshold_is_judged_on_both_sides() -> None:
    holds = _threshold(starved_up_to="550KiBps", none_from="600KiBps")
    assert holds.verdict == HOLDS
    assert [item.required for item in holds.comparisons] == ["≥ 1", "≥ 1", "< 1", "< 1"]
    assert _threshold(starved_up_to="450KiBps", none_from="550KiBps").verdict == CONTRADICTED
    assert _threshold(starved_up_to="600KiBps", none_from="720KiBps").verdict == CONTRADICTED
    assert len(_threshold(starved_up_to="450KiBps", none_from="720KiBps").comparisons) == 2
    missing = _threshold(starved_up_to="75KiBps", none_from="600KiBps")
    assert (missing.verdict, missing.reason) == (
        NOT_TESTED,
        "this plan has no level middle_bandwidth=75KiBps",
    )


@pytest.mark.parametrize("plan", ["main", "packaging", "streams", "slowest"])
def test_a_plan_has_a_summary_with_who_starved(tmp_path: Path, plan: str) -> None:
    experiment = load_experiment("starvation")
    runs = write_runs(tmp_path / "runs", experiment.plan(plan).knobs, range(1, 9))
    summary = summarize(gathered(runs, tmp_path, "starvation", plan), experiment)
    write_summary(summary, tmp_path / "out")
    verdicts = {verdict.claim: verdict.verdict for verdict in summary.verdicts}
    assert verdicts["list_order_starves_all_but_the_last"] == HOLDS
    assert verdicts["starved_below_the_other_relays"] == (HOLDS if plan == "main" else NOT_TESTED)
    text = (tmp_path / "out/summary.json").read_text()
    assert "Who starved" in text
    assert "6.000 [6.000, 6.000]" in text
    assert "nan" not in text
    assert pl.read_csv(tmp_path / "out/clients.csv").height == len(runs)
    assert set(pl.read_csv(tmp_path / "out/shares.csv")["seed"]) == set(range(1, 9))
