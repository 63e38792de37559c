"""What sources show, and what they show together: distances, contrasts, claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.several_sources import FAST, SLOW, VARIANTS, MakeRun, summary_of
from tests.synthetic import record_tables
from torsweep.config.variant import one_knob_apart
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE
from torsweep.stats.contrasts import DIFFERS, LONGER, NOT_RUN, OPEN, SHORTER, SURVIVES, together
from torsweep.stats.summarize import shown_summary


def _row(frame: pl.DataFrame, **values: object) -> dict[str, Any]:
    values = {"kind": "web", "metric": "ttfb", **values}
    (row,) = frame.filter(*(pl.col(key).cast(pl.String) == value for key, value in values.items())).to_dicts()
    return row


def _two(make_run: MakeRun, slower: float = 1.0, repeats: bool = True) -> None:
    """Shadow and a model that takes ``slower`` times as long, two variants on two networks."""
    for variant in (SLOW, FAST):
        for seed in (1, 2):
            make_run("shadow", variant, seed)
            make_run("cellsim", variant, seed, slower=slower)
    if repeats:
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


def test_a_contrast_is_the_mean_logarithm_of_the_ratio_of_medians(make_run, tmp_path):
    _two(make_run)
    tables = summary_of(tmp_path)
    medians = {
        (row["refill_interval"], row["seed"]): row["p50_s"]
        for row in tables["distances"].iter_rows(named=True)
        if (row["source"], row["kind"], row["metric"]) == ("cellsim", "web", "ttfb")
    }
    expected = np.mean([np.log(medians["10ms", seed] / medians["1000ms", seed]) for seed in (1, 2)])
    row = _row(tables["contrasts"], source="cellsim")
    assert (row["knob"], row["from"], row["to"], row["at"]) == ("refill_interval", "1000ms", "10ms", "ewma")
    assert row["ratio"] == pytest.approx(np.exp(expected))
    assert row["networks"] == 2


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
    """The model has the whole grid on three networks; Shadow two variants on two, the emulation on none."""
    for seed in (1, 2, 3):
        for variant in VARIANTS:
            make_run("cellsim", variant, seed)
            make_run("cellsim+tcp=linux_6_18", variant, seed)
    for variant in (SLOW, FAST):
        for seed in (2, 3):
            make_run("shadow", variant, seed)
    summary = summary_of(tmp_path, "shadow,cellsim,cellsim+tcp=linux_6_18")
    verdicts = summary["verdicts"].head(3)
    assert verdicts["source"].to_list() == ["shadow", "cellsim", "cellsim+tcp=linux_6_18"]
    assert verdicts["verdict"][0] == NOT_RUN
    assert verdicts["verdict"][1] == verdicts["verdict"][2]
    assert verdicts["networks"].to_list() == [0, 3, 3]
    assert verdicts["reason"][0] == "no network has all 6 variants"
    shorter = summary["contrasts"].filter(
        kind="web", metric="ttfb", at="ewma", **{"from": "1000ms", "to": "10ms"}
    )
    assert shorter["networks"].to_list() == [2, 3, 3]
    assert shorter["shows"].to_list() == [SHORTER, SHORTER, SHORTER]
    assert set(shorter["together"]) == {SURVIVES}
    # Differences are within each source: the levels of none is a baseline of another's.
    differences = summary["differences"].filter(kind="web", metric="ttfb", estimand="median")
    assert differences.group_by("source").len().sort("source")["len"].to_list() == [5, 5]
    assert set(differences["family_size"]) == {5}


def test_a_sign_that_turns_is_told(make_run, tmp_path):
    for seed in (1, 2, 3):
        for variant in (SLOW, FAST):
            make_run("cellsim", variant, seed)
            make_run("emulation", variant, seed, slower=5.0 if variant is FAST else 1.0)
    turned = summary_of(tmp_path, "emulation,cellsim")["contrasts"].filter(kind="web", metric="ttfb")
    assert turned["shows"].to_list() == [LONGER, SHORTER]
    assert set(turned["together"]) == {DIFFERS}


def test_equal_variants_show_no_difference(make_run, tmp_path):
    for seed in (1, 2, 3):
        make_run("cellsim", SLOW, seed)
        original, other = (make_run("emulation", variant, seed) for variant in (FAST, SLOW))
        streams = pl.read_parquet(original / "streams.parquet")
        nearly = (pl.col("first_byte_us") * (1 + seed / 1000)).round().cast(pl.Int64)
        streams.with_columns(nearly).write_parquet(other / "streams.parquet")
        record_tables(other)
    row = _row(summary_of(tmp_path, "cellsim,emulation")["contrasts"], source="emulation")
    assert row["shows"] == NO_DIFFERENCE


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ({"shadow": HOLDS, "cellsim": HOLDS, "emulation": None}, SURVIVES),
        ({"cellsim": HOLDS, "cellsim+tcp=linux_6_18": HOLDS, "shadow": None}, OPEN),
        ({"shadow": HOLDS, "cellsim": None}, OPEN),
        ({"shadow": HOLDS, "emulation": CONTRADICTED, "cellsim": HOLDS}, DIFFERS),
        ({"cellsim": NO_DIFFERENCE, "cellsim+tcp=linux_6_18": LONGER}, DIFFERS),
        ({"shadow": None, "cellsim": None}, OPEN),
    ],
)
def test_what_sources_say_together(decided, expected):
    assert together(decided) == expected
