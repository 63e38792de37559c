"""Paired differences: the spread between networks cancels, many comparisons are paid for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.streams.differences import DIFFERENCES, differences, paired
from torsweep.stats.streams.medians import CLIENT_MEDIAN, MEAN, QUANTILES

BASELINE = {"refill_interval": "100ms"}
LEVELS = ["1000ms", "100ms", "10ms"]


def _runs(networks: int = 8, effect: float = 0.9, noise: float = 0.01) -> pl.DataFrame:
    """Medians of three levels: networks differ by a third, 10 ms is ``effect`` of 100 ms in each."""
    generator = np.random.default_rng(6)
    speeds = generator.lognormal(0, 0.3, networks)
    rows = []
    for level in LEVELS:
        for seed, speed in enumerate(speeds):
            factor = {"10ms": effect}.get(level, 1.0) * (1 + noise * generator.normal())
            values = {name: speed * factor * (1 + q) for name, q in QUANTILES.items()}
            rows.append({"metric": "ttfb", "kind": "web", "refill_interval": level, "seed": seed, **values})
            rows[-1] |= {CLIENT_MEDIAN: values["median_s"], MEAN: values["p90_s"]}
    return pl.DataFrame(rows)


def _table(runs: pl.DataFrame) -> pl.DataFrame:
    others = [{"refill_interval": level} for level in LEVELS if level != BASELINE["refill_interval"]]
    rows = differences(runs, [(BASELINE, others)])
    return pl.DataFrame(rows, DIFFERENCES.schema(BASELINE)).with_columns(pl.col(pl.Float64).fill_nan(None))


def _median(table: pl.DataFrame, level: str) -> dict[str, object]:
    chosen = table.filter(pl.col("estimand") == "median", pl.col("refill_interval") == level)
    return chosen.row(0, named=True)


def test_pairing_finds_what_the_spread_of_networks_would_hide() -> None:
    runs = _runs()
    row = _median(_table(runs), "10ms")
    assert row["relative"] == pytest.approx(-0.1, abs=0.02)
    assert row["relative_simultaneous_high"] < 0
    pair = paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"})
    alone = t_interval(pair.variant_s), t_interval(pair.reference_s)
    assert alone[0].high > alone[1].low


def test_no_effect_is_not_found() -> None:
    row = _median(_table(_runs()), "1000ms")
    assert row["relative_low"] < 0 < row["relative_high"]


def test_simultaneous_intervals_are_wider_and_families_are_counted() -> None:
    table = _table(_runs())
    assert set(table["estimand"]) == {name.removesuffix("_s") for name in (*QUANTILES, CLIENT_MEDIAN, MEAN)}
    for row in table.iter_rows(named=True):
        assert row["difference_simultaneous_low_s"] < row["difference_low_s"]
        assert row["relative_simultaneous_high"] > row["relative_high"]
        assert row["family_size"] == (2 if row["estimand"] in ("median", "client_median", "mean") else 10)


def test_one_network_has_a_difference_and_no_interval() -> None:
    row = _median(_table(_runs(networks=1)), "10ms")
    assert row["difference_s"] < 0
    assert row["difference_low_s"] is None


def test_two_networks_have_their_own_changes_for_bounds() -> None:
    runs = _runs(networks=2)
    row = _median(_table(runs), "10ms")
    changes = np.expm1(paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}).log_ratio)
    assert [row["relative_low"], row["relative_high"]] == pytest.approx(sorted(changes))
    assert row["relative_simultaneous_low"] is None


def test_a_median_that_one_network_never_reached_leaves_no_difference() -> None:
    runs = _runs().with_columns(
        pl.when((pl.col("seed") == 3) & (pl.col("refill_interval") == "10ms"))
        .then(None)
        .otherwise("median_s")
        .alias("median_s")
    )
    row = _median(_table(runs), "10ms")
    assert row["relative"] is None
    assert row["relative_low"] is None
    assert _median(_table(runs), "1000ms")["relative"] is not None


def test_pairs_follow_the_seed_not_the_order() -> None:
    runs = _runs(noise=0)
    shuffled = runs.sample(fraction=1, shuffle=True, seed=1)
    pair = paired(shuffled, "median_s", BASELINE, {"refill_interval": "10ms"})
    np.testing.assert_allclose(np.expm1(pair.log_ratio), -0.1)


def test_a_network_without_downloads_has_an_entry_without_a_number() -> None:
    runs = _runs(networks=4).filter((pl.col("seed") != 2) | (pl.col("refill_interval") != "10ms"))
    pair = paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}, runs["seed"].unique().sort())
    assert np.isnan(pair.log_ratio).tolist() == [False, False, True, False]
    assert len(paired(runs, "median_s", BASELINE, {"refill_interval": "10ms"}).log_ratio) == 3
