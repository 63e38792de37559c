"""Cells are judged by the floor of their own variant or of others, contrasts by sign, size and noise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.unit.fidelity.conftest import VARIANTS, MakeRun
from torsweep.config.variant import one_knob_apart
from torsweep.fidelity.comparison import BEYOND, MARGIN, UNKNOWN, WITHIN, all_curves, cells, distances
from torsweep.fidelity.contrasts import (
    NO_CONTRAST,
    OTHER_SIGN,
    OTHER_SIZE,
    SAME,
    contrasts,
    verdict,
)
from torsweep.fidelity.matches import (
    MODEL,
    MODEL_REPEAT,
    REFERENCE,
    REFERENCE_REPEAT,
    REPLAY,
    Match,
    match_runs,
)

KNOBS = ["refill_interval", "circuit_policy"]
SLOW, FAST = VARIANTS


def _matches(make_run: MakeRun, model_slower: float = 1.0, repeats: bool = True) -> list[Match]:
    directories = {
        REFERENCE: [make_run(REFERENCE, variant, seed) for variant in VARIANTS for seed in (1, 2)],
        MODEL: [
            make_run(MODEL, variant, seed, slower=model_slower) for variant in VARIANTS for seed in (1, 2)
        ],
    }
    if repeats:
        directories[REFERENCE_REPEAT] = [make_run(REFERENCE_REPEAT, SLOW, 1, draws=77)]
    return match_runs(directories)


def _row(frame: pl.DataFrame, variant: dict[str, str], kind: str, metric: str) -> dict[str, object]:
    chosen = frame.filter(
        pl.col("refill_interval") == variant["refill_interval"],
        pl.col("kind").cast(pl.String) == kind,
        pl.col("metric").cast(pl.String) == metric,
    )
    return chosen.row(0, named=True)


def test_a_model_that_gives_the_same_downloads_is_within(make_run: MakeRun) -> None:
    matches = _matches(make_run)
    table = cells(distances(matches, all_curves(matches)), KNOBS)
    assert set(table["verdict"]) == {WITHIN}
    assert table["ks"].max() == 0
    assert table["p50_ratio"].to_list() == [1.0] * len(table)
    assert len(table) == 8


def test_a_model_three_times_as_slow_is_beyond_and_the_ratios_say_by_how_much(
    make_run: MakeRun,
) -> None:
    matches = _matches(make_run, model_slower=3.0)
    table = cells(distances(matches, all_curves(matches)), KNOBS)
    row = _row(table, SLOW, "web", "ttfb")
    assert row["verdict"] == BEYOND
    assert row["ks"] > row["floor"] + MARGIN  # type: ignore[operator]
    assert row["p50_ratio"] == pytest.approx(3, rel=0.01)
    assert row["networks"] == 2
    found = distances(matches, all_curves(matches))
    own = _row(found.filter(pl.col("series") == MODEL, pl.col("seed") == 1), SLOW, "web", "ttfb")
    assert 0 < own["downloads"] < row["downloads"]  # type: ignore[operator]
    assert row["reference_downloads"] == row["downloads"]


def test_the_floor_is_that_of_the_variant_or_of_the_others(make_run: MakeRun) -> None:
    matches = _matches(make_run)
    table = cells(distances(matches, all_curves(matches)), KNOBS)
    own, shared = _row(table, SLOW, "web", "ttfb"), _row(table, FAST, "web", "ttfb")
    assert own["floor"] == shared["floor"]
    assert own["floor"] > 0  # type: ignore[operator]
    assert (own["floor_networks"], shared["floor_networks"]) == (1, 0)


def test_without_a_repeat_nothing_is_judged(make_run: MakeRun) -> None:
    matches = _matches(make_run, repeats=False)
    table = cells(distances(matches, all_curves(matches)), KNOBS)
    assert set(table["verdict"]) == {UNKNOWN}
    assert table["floor"].null_count() == len(table)


def test_a_replay_and_the_models_own_floor_stand_beside(make_run: MakeRun) -> None:
    paths = {"web1": (("relay1", "relay2", "relay3"),)}
    matches = match_runs(
        {
            REFERENCE: [make_run(REFERENCE, SLOW, 1)],
            MODEL: [make_run(MODEL, SLOW, 1, slower=2)],
            REPLAY: [make_run(REPLAY, SLOW, 1, paths=paths)],
            MODEL_REPEAT: [make_run(MODEL_REPEAT, SLOW, 1, draws=5, slower=2)],
        }
    )
    found = distances(matches, all_curves(matches))
    row = _row(cells(found, KNOBS), SLOW, "web", "ttfb")
    assert row["replay_ks"] == 0 < row["ks"]  # type: ignore[operator]
    # The model's repeat stands against the model: its ratios are near one, not near two.
    repeat = found.filter(
        pl.col("series") == MODEL_REPEAT, pl.col("metric") == "ttfb", pl.col("kind") == "web"
    )
    assert 0.6 < repeat["p50_ratio"][0] < 1.6
    assert row["model_floor"] == repeat["ks"][0]


def test_a_contrast_is_seen_with_sign_and_size(make_run: MakeRun) -> None:
    matches = _matches(make_run)
    table = contrasts(matches, all_curves(matches))
    row = table.filter(pl.col("kind") == "web", pl.col("metric") == "ttfb").row(0, named=True)
    assert (row["knob"], row["from"], row["to"], row["at"]) == ("refill_interval", "1000ms", "10ms", "ewma")
    assert row["networks"] == 2
    assert row["reference"] == row["model"] < 0
    assert row["size_ratio"] == 1
    assert row["verdict"] == SAME


def test_a_contrast_is_the_mean_logarithm_of_the_ratio_of_medians(make_run: MakeRun) -> None:
    matches = _matches(make_run)
    found = distances(matches, all_curves(matches)).filter(
        pl.col("series") == MODEL, pl.col("kind") == "web", pl.col("metric") == "ttfb"
    )
    medians = {
        (row["refill_interval"], row["seed"]): row["p50_reference_s"] for row in found.iter_rows(named=True)
    }
    expected = np.mean([np.log(medians["10ms", seed] / medians["1000ms", seed]) for seed in (1, 2)])
    row = contrasts(matches, all_curves(matches)).row(0, named=True)
    assert row["reference"] == pytest.approx(expected)


def test_noise_comes_from_repeats_of_both_variants(make_run: MakeRun) -> None:
    directories = {
        REFERENCE: [make_run(REFERENCE, variant, 1) for variant in VARIANTS],
        MODEL: [make_run(MODEL, variant, 1) for variant in VARIANTS],
        REFERENCE_REPEAT: [make_run(REFERENCE_REPEAT, SLOW, 1, draws=9)],
    }
    one = match_runs(directories)
    assert contrasts(one, all_curves(one))["noise"].null_count() == 4
    directories[MODEL_REPEAT] = [make_run(MODEL_REPEAT, variant, 1, draws=9) for variant in VARIANTS]
    both = match_runs(directories)
    table = contrasts(both, all_curves(both))
    assert set(table["noise_from"]) == {MODEL}
    directories[REFERENCE_REPEAT].append(make_run(REFERENCE_REPEAT, FAST, 1, draws=9))
    all_of_them = match_runs(directories)
    assert set(contrasts(all_of_them, all_curves(all_of_them))["noise_from"]) == {REFERENCE}


@pytest.mark.parametrize(
    ("reference", "model", "noise", "expected"),
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
def test_verdicts(reference: float, model: float, noise: float | None, expected: str) -> None:
    assert verdict(reference, model, noise) == expected


def test_contrasts_are_one_knob_apart() -> None:
    grid = [{"a": a, "b": b} for a in "12" for b in "xy"]
    pairs = one_knob_apart(grid)
    assert [(one["a"] + one["b"], other["a"] + other["b"], knob) for one, other, knob in pairs] == [
        ("1x", "1y", "b"),
        ("1x", "2x", "a"),
        ("1y", "2y", "a"),
        ("2x", "2y", "b"),
    ]
