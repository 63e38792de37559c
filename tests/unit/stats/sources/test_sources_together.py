"""What sources show, and what they show together: gaps beside the floor, contrasts, claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.several_sources import FAST, SLOW, VARIANTS, MakeRun, summary_of
from tests.synthetic import record_tables
from torsweep.config.variant import one_knob_apart
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE
from torsweep.stats.sources.agreement import DIFFERS, NOT_RUN, OPEN, SURVIVES, together
from torsweep.stats.sources.contrasts import (
    LONGER,
    NO_CONTRAST,
    OTHER_SIGN,
    OTHER_SIZE,
    SAME,
    SHORTER,
    agrees,
)
from torsweep.stats.sources.distances import BEYOND_AIM, MARGIN, UNKNOWN, WITHIN_AIM
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


def test_a_model_that_gives_the_same_downloads_is_within(make_run, tmp_path):
    _two(make_run)
    table = summary_of(tmp_path)["gaps"]
    assert set(table["verdict"]) == {WITHIN_AIM}
    assert table["ks"].max() == 0
    assert table["p50_ratio"].to_list() == [1.0] * len(table)
    assert len(table) == 8


def test_a_model_three_times_as_slow_is_beyond_and_the_ratios_say_by_how_much(make_run, tmp_path):
    _two(make_run, slower=3.0)
    tables = summary_of(tmp_path)
    row = _row(tables["gaps"], refill_interval="1000ms")
    assert row["verdict"] == BEYOND_AIM
    assert row["ks"] > row["floor"] + MARGIN
    assert row["p50_ratio"] == pytest.approx(3, rel=0.02)
    assert row["networks"] == 2
    own = _row(tables["distances"], source="cellsim", seed="1", refill_interval="1000ms")
    assert 0 < own["downloads"] < row["downloads"]


def test_the_floor_is_that_of_the_variant_or_of_the_others(make_run, tmp_path):
    _two(make_run)
    table = summary_of(tmp_path)["gaps"]
    own, shared = (_row(table, refill_interval=level) for level in ("1000ms", "10ms"))
    assert own["floor"] == shared["floor"] > 0
    assert (own["floor_networks"], shared["floor_networks"]) == (1, 0)


def test_without_a_repeat_nothing_is_judged(make_run, tmp_path):
    _two(make_run, repeats=False)
    summary = summary_of(tmp_path)
    assert set(summary["gaps"]["verdict"]) == {UNKNOWN}
    assert summary["gaps"]["floor"].null_count() == 8
    assert "there is no floor to judge by" in shown_summary(summary).markdown


def test_a_floor_of_its_own_stands_beside(make_run, tmp_path):
    make_run("shadow", SLOW, 1)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2, draws=5)
    tables = summary_of(tmp_path, "shadow,cellsim+tcp=linux_6_18")
    model = _row(tables["gaps"], source="cellsim+tcp=linux_6_18")
    # A repeat stands against its own source: the ratios are near one, not near two.
    repeat = _row(tables["distances"], source="cellsim+tcp=linux_6_18+repeat")
    assert repeat["against"] == "cellsim+tcp=linux_6_18"
    assert 0.55 < repeat["p50_ratio"] < 1.8
    assert (model["own_floor"], model["floor"]) == (repeat["ks"], None)
    assert model["ks"] > 0


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
    assert row["ratio"] == row["shared_ratio"] == row["reference_ratio"] == pytest.approx(np.exp(expected))
    assert (row["networks"], row["shared"], row["size"], row["agrees"]) == (2, 2, 1, SAME)
    assert (row["relative"], row["relative_low"]) == (1, None)
    assert _row(tables["contrasts"], source="shadow")["agrees"] is None


def test_noise_comes_from_repeats_of_both_variants(make_run, tmp_path):
    for variant in (SLOW, FAST):
        make_run("shadow", variant, 1)
        make_run("cellsim", variant, 1)
    make_run("shadow", SLOW, 1, draws=9)

    def noise_of() -> str | None:
        return str(_row(summary_of(tmp_path)["contrasts"], source="cellsim")["noise_of"])

    assert noise_of() == "None"
    for variant in (SLOW, FAST):
        make_run("cellsim", variant, 1, draws=9)
    assert noise_of() == "cellsim"
    make_run("shadow", FAST, 1, draws=9)
    assert noise_of() == "shadow"


@pytest.mark.parametrize(
    ("reference", "own", "noise", "expected"),
    [
        (-0.4, -0.3, 0.1, SAME),
        (-0.4, -0.1, 0.1, OTHER_SIZE),
        (-0.1, -0.4, 0.05, OTHER_SIZE),
        (-0.4, 0.3, 0.1, OTHER_SIGN),
        (-0.4, 0.0, 0.1, OTHER_SIGN),
        (-0.05, 0.05, 0.1, NO_CONTRAST),
        (-0.05, 0.2, 0.1, OTHER_SIGN),
        (-0.05, 0.05, None, OTHER_SIGN),
        (0.2, 0.4, 0.1, SAME),
    ],
)
def test_contrasts_agree(reference, own, noise, expected):
    assert agrees(reference, own, noise) == expected


def test_contrasts_are_one_knob_apart():
    grid = [{"a": a, "b": b} for a in "12" for b in "xy"]
    pairs = one_knob_apart(grid)
    assert [(one["a"] + one["b"], other["a"] + other["b"], knob) for one, other, knob in pairs] == [
        ("1x", "1y", "b"),
        ("1x", "2x", "a"),
        ("1y", "2y", "a"),
        ("2x", "2y", "b"),
    ]


def test_claims_rest_on_whole_networks_and_contrasts_on_those_of_both(make_run, tmp_path):
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
    assert shorter["shared"].to_list() == [None, 2, 2]
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
    assert turned["agrees"].to_list() == [None, OTHER_SIGN]
    assert turned["relative_high"][1] < 1


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
        ([HOLDS, HOLDS, None], SURVIVES),
        ([HOLDS, None], OPEN),
        ([HOLDS, CONTRADICTED, HOLDS], DIFFERS),
        ([NO_DIFFERENCE, LONGER], DIFFERS),
        ([None, None], OPEN),
    ],
)
def test_what_sources_say_together(decided, expected):
    assert together(decided) == expected
