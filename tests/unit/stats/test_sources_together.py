"""What sources show side by side: distances, contrasts, claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.several_sources import FAST, SLOW, VARIANTS, MakeRun, summary_of
from torsweep.config.variant import one_knob_apart
from torsweep.stats.claims.judging import NOT_TESTED
from torsweep.stats.summarize import shown_summary


def _row(frame: pl.DataFrame, **values: object) -> dict[str, Any]:
    values = {"kind": "web", "metric": "ttfb", **values}
    (row,) = frame.filter(*(pl.col(key).cast(pl.String) == value for key, value in values.items())).to_dicts()
    return row


def _two(make_run: MakeRun, slower: float = 1.0) -> None:
    """Shadow and a model that takes ``slower`` times as long, two variants on two networks."""
    for variant in (SLOW, FAST):
        for seed in (1, 2):
            make_run("shadow", variant, seed)
            make_run("cellsim", variant, seed, slower=slower)
    make_run("shadow", SLOW, 1, draws=77)


def test_a_model_that_gives_the_same_downloads_is_at_no_distance(make_run, tmp_path):
    _two(make_run)
    table = summary_of(tmp_path)["distances"].filter(pl.col("source") == "cellsim")
    assert table["ks"].max() == 0
    assert table["p50_ratio"].to_list() == [1.0] * len(table)
    assert len(table) == 16


def test_a_model_three_times_as_slow_is_farther_than_chance(make_run, tmp_path):
    _two(make_run, slower=3.0)
    summary = summary_of(tmp_path)
    slow = {"seed": "1", "refill_interval": "1000ms"}
    own = _row(summary["distances"], source="cellsim", **slow)
    chance = _row(summary["distances"], source="shadow+repeat", **slow)
    assert own["ks"] > chance["ks"] > 0
    assert own["p50_ratio"] == pytest.approx(3, rel=0.05)
    assert "shadow+repeat / shadow" in str(shown_summary(summary).tables["distances"])


def test_a_repeat_is_compared_with_its_own_source(make_run, tmp_path):
    make_run("shadow", SLOW, 1)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2, draws=5)
    tables = summary_of(tmp_path, "shadow,cellsim+tcp=linux_6_18")
    repeat = _row(tables["distances"], source="cellsim+tcp=linux_6_18+repeat")
    assert repeat["against"] == "cellsim+tcp=linux_6_18"
    assert 0.55 < repeat["p50_ratio"] < 1.8


def test_contrasts_are_one_knob_apart():
    grid = [{"a": a, "b": b} for a in "12" for b in "xy"]
    pairs = one_knob_apart(grid)
    assert [(one["a"] + one["b"], other["a"] + other["b"], knob) for one, other, knob in pairs] == [
        ("1x", "1y", "b"),
        ("1x", "2x", "a"),
        ("1y", "2y", "a"),
        ("2x", "2y", "b"),
    ]


def test_claims_rest_on_whole_networks_and_contrasts_on_all_that_have_both(make_run, tmp_path):
    """The model has the whole grid on three networks; Shadow two variants on two."""
    for seed in (1, 2, 3):
        for variant in VARIANTS:
            make_run("cellsim", variant, seed)
    for variant in (SLOW, FAST):
        for seed in (2, 3):
            make_run("shadow", variant, seed)
    summary = summary_of(tmp_path, "shadow,cellsim")
    shadow, model = summary.verdicts[:2]
    assert (shadow.setting[:13], shadow.verdict) == ("source=shadow", NOT_TESTED)
    assert shadow.reason == "no network has all 6 variants"
    assert (model.setting[:14], model.verdict == NOT_TESTED) == ("source=cellsim", False)
    assert {answer.interval.networks for answer in model.comparisons} == {3}
    shorter = summary["contrasts"].filter(
        kind="web", metric="ttfb", at="ewma", **{"from": "1000ms", "to": "10ms"}
    )
    assert shorter["networks"].to_list() == [2, 3]
    medians = {
        (row["refill_interval"], row["seed"]): row["median_s"]
        for row in summary["medians"].iter_rows(named=True)
        if (row["source"], row["kind"], row["metric"]) == ("shadow", "web", "ttfb")
    }
    expected = np.mean([np.log(medians["10ms", seed] / medians["1000ms", seed]) for seed in (2, 3)])
    assert shorter["ratio"][0] == pytest.approx(np.exp(expected))
    # Differences are within each source: the levels of none is a baseline of another's.
    differences = summary["differences"].filter(kind="web", metric="ttfb", estimand="median")
    assert differences["source"].to_list() == ["cellsim"] * 5
    assert set(differences["family_size"]) == {5}
